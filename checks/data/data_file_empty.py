"""A file of the data set is empty.

## What it means
A download, a conversion or a filter left a file without rows, or the option names another file than the one that was
written.
## What it does to a run
The run ends while the data set is loaded, or with a loader that has nothing to give.
## What to do
Look at the size of the files, and write them again.
## How it is found
In a log: by the exceptions of datasets, pyarrow and pandas for empty files.
## References
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/packaged_modules/json/json.py
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/arrow_reader.py
https://pandas.pydata.org/docs/reference/api/pandas.errors.EmptyDataError.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="DAT058", name="data-file-empty", severity=ERROR, since="0.1")

EMPTY = Message(
    en=Words(
        "a data file of the dataset is empty: it has no rows",
        "The file is there and holds nothing to read: a download or conversion broke off, a filter took every row "
        "away, or a script opened it for writing and ended before the first line.",
        "Look at the sizes: `ls -l DATA_FOLDER` and `wc -l FILE.jsonl`. Write or download the empty one again "
        "(`rm -r ~/.cache/huggingface/datasets/...` where an empty version was cached), or leave it out of "
        "`data_files`.",
    ),
    zh=Words(
        "数据集的某个数据文件是空的:没有任何行",
        "文件存在但没有可读内容:下载或转换中断,过滤去掉了所有行,或脚本以写方式打开后在写第一行前结束。",
        "查看大小:`ls -l 数据目录` 与 `wc -l 文件.jsonl`。重新写入或下载空文件(若空版本已缓存,删除 "
        "`~/.cache/huggingface/datasets/...`),或将其从 `data_files` 中去掉。",
    ),
)
SPLIT = Message(
    en=Words(
        "split `{split}` of the dataset came out empty",
        "Its files have no rows, or the pattern of `data_files` for it matches none with rows, and the cache now "
        "holds the empty result.",
        "Check the files of that split (`wc -l`), and delete the cached version (`load_dataset(..., "
        'download_mode="force_redownload")`), or name a split that has rows.',
    ),
    zh=Words(
        "数据集的 split `{split}` 是空的",
        "该 split 的文件没有行,或 `data_files` 的模式没有匹配到有行的文件,而缓存保存了这个空结果。",
        '检查该 split 的文件(`wc -l`),删除缓存版本(`load_dataset(..., download_mode="force_redownload")`),'
        "或使用有数据的 split。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"^StopIteration(?::|$)", frame="datasets/packaged_modules/"),
        EMPTY,
        LIKELY,
    ),
    (
        Signature(r"ArrowInvalid: Empty CSV file|EmptyDataError: No columns to parse from file"),
        EMPTY,
        CONFIRMED,
    ),
    (
        Signature(r"ValueError: Instruction \"(?P<split>[^\"\n]{1,60})\" corresponds to no data!"),
        SPLIT,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)

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
        "a data file is empty: it has no rows",
        "The file is there and holds nothing to read: a download or conversion broke off, a filter took every row "
        "away, or a script opened it for writing and ended before the first line.",
        "Look at the sizes: `ls -l DATA_FOLDER` and `wc -l FILE.jsonl`. Write or download the empty one again "
        "(`rm -r ~/.cache/huggingface/datasets/...` where an empty version was cached), or leave it out of "
        "`data_files`.",
    ),
    zh=Words(
        "某个数据文件是空的:没有任何行",
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
NO_ROWS = Message(
    en=Words(
        "the dataset that training samples from has no rows",
        "The loader was made for a dataset of length 0: every row was filtered away (too long, a column without a "
        "value, the wrong split or condition), or `max_samples` and the split leave nothing.",
        "Print `len(dataset)` after each `filter`, `select` and `map`, and look at the lengths: "
        "`max_prompt_length`, `max_length` or `cutoff_len` may be shorter than every row. Check the name of the "
        "split and the file behind it, and delete a cached empty result (`load_from_cache_file=False`).",
    ),
    zh=Words(
        "训练要采样的数据集没有任何行",
        "为长度为 0 的数据集创建了加载器:所有行都被过滤(过长、某列为空、split 或条件错误),或 `max_samples` "
        "与划分后没有剩余。",
        "在每次 `filter`、`select`、`map` 之后打印 `len(dataset)`,并查看长度:`max_prompt_length`、"
        "`max_length` 或 `cutoff_len` 可能小于所有行。检查 split 名称及其文件,并删除缓存的空结果"
        "(`load_from_cache_file=False`)。",
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
        LIKELY,
    ),
    (
        Signature(r"ValueError: Instruction \"(?P<split>[^\"\n]{1,60})\" corresponds to no data!"),
        SPLIT,
        CONFIRMED,
    ),
    (
        Signature(
            r"ValueError: num_samples should be a positive integer value, but got num_samples=0",
            symptom_of=("VRL", "TRL", "DAT", "TRI"),
        ),
        NO_ROWS,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)

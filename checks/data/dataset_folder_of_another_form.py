"""A path was given for a dataset and holds none, or one of another form.

## What it means
`load_from_disk` reads only what `save_to_disk` wrote, `load_dataset` only files of known kinds (json, jsonl, csv,
parquet, text ...). The path is empty, misspelt, relative to another folder, or of the other kind.
## What it does to a run
FileNotFoundError or EmptyDatasetError before training.
## What to do
Look into the folder, and use the function that fits what is there.
## How it is found
In a log: by the exceptions of the datasets library.
## References
https://github.com/huggingface/datasets/blob/5.2.0/src/datasets/load.py
https://github.com/huggingface/datasets/blob/5.2.0/src/datasets/data_files.py
https://huggingface.co/docs/datasets/loading#local-and-remote-files
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT038", name="dataset-folder-of-another-form", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"FileNotFoundError: Directory (?P<path>[^\s'\"]{1,200}) is neither a `Dataset` directory nor a `DatasetDict`"
    ),
    Signature(r"EmptyDatasetError: The directory at (?P<path>[^\s'\"]{1,200}) doesn't contain any data files"),
    Signature(r"FileNotFoundError: Unable to find '(?P<path>[^'\n]{1,200})' with any supported extension"),
    Signature(r"FileNotFoundError: Unable to find '(?P<path>[^'\n]{1,200})'$", frame=r"[\\/]datasets[\\/]"),
    Signature(
        r"FileNotFoundError: No such files?: '(?P<path>[^'\n]{1,200})'.{0,220}Expected to load a"
        r" `(?P<want>Dataset|DatasetDict)`"
        r" object, but got a `(?P<got>Dataset|DatasetDict)`"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no dataset that can be read at `{path}`",
        "The path is wrong (a relative one counts from the folder where the command is started), the folder is "
        "empty, or "
        "what lies there is of another form: `load_from_disk` reads what `save_to_disk` wrote, and "
        "`load_dataset` reads "
        "json, jsonl, csv, parquet or text files.",
        "Look: `ls -la {path}`. Files of rows: `load_dataset('json', data_files='{path}')` (or 'parquet', "
        "'csv'). A folder "
        "of `save_to_disk` (it holds `state.json` or `dataset_dict.json`): `load_from_disk`. Every node has to "
        "see the path.",
    ),
    zh=Words(
        "`{path}` 处没有可读取的数据集",
        "路径有误(相对路径从启动命令的目录算起)、文件夹为空,或内容是另一种形式:`load_from_disk` 只读 `save_to_disk` "
        "写出的目录,`load_dataset` 读 json、jsonl、csv、parquet 或文本文件。",
        "查看:`ls -la {path}`。数据文件用 `load_dataset('json', data_files='{path}')`(或 'parquet'、'csv')。由 "
        "`save_to_disk` 写出的文件夹(含 `state.json` 或 `dataset_dict.json`)用 `load_from_disk`。"
        "所有节点都必须能看到该路径。",
    ),
)
OTHER_KIND = Message(
    en=Words(
        "`{path}` belongs to a `{got}`, and a `{want}` was to be loaded",
        "`save_to_disk` of a `DatasetDict` writes one folder for each split.",
        "Call `datasets.load_from_disk(PATH)`, which takes both; for one split of a `DatasetDict` take "
        '`["train"]` of it.',
    ),
    zh=Words(
        "`{path}` 属于 `{got}`,而要加载的是 `{want}`",
        "`DatasetDict` 的 `save_to_disk` 为每个 split 写一个文件夹。",
        '用 `datasets.load_from_disk(PATH)`,两者都能读;只要 `DatasetDict` 的一个 split 时再取 `["train"]`。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The other kind of folder is told apart from none."""
    path, got, want = (hits.first.groups.get(name) for name in ("path", "got", "want"))
    message = OTHER_KIND if got else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), path=path, got=got, want=want)

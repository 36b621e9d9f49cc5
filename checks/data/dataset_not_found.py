"""The dataset exists neither on the disk nor on the Hub.

## What it means
The name given to `load_dataset` is taken for a folder first and for a repository of the Hub second. A
relative path from another working directory, a slip in the name, or a private dataset without a token ends
in neither.
## What it does to a run
`load_dataset` raises before anything is read.
## What to do
Check the spelling and the working directory; log in for a private dataset; load folders made with
`save_to_disk` with `load_from_disk`.
## How it is found
In a log: by the exception of `load_dataset`.
## References
https://huggingface.co/docs/datasets/loading
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/load.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT019", name="dataset-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"DatasetNotFoundError: Dataset '(?P<name>[^'\n]{1,160})' doesn't exist on the Hub or cannot"
        r" be accessed",
    ),
    Signature(
        r"(?:DataFilesNotFoundError|FileNotFoundError): No \(supported\) data files found in"
        r" (?P<name>[^\s]{1,200})",
    ),
    Signature(r"FileNotFoundError: Couldn't find any data file at (?P<name>[^\s]{1,200})"),
    Signature(r"ValueError: You are trying to load a dataset that was saved using `save_to_disk`"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no dataset `{name}` was found, neither as files nor on the Hub",
        "A relative path is looked for in the working directory first; then the name is asked for on the "
        "Hub, where a private dataset looks like a missing one.",
        'Check the spelling; give local data as an absolute path or as `load_dataset("json", '
        'data_files="/path/file.jsonl")`; for a private dataset log in with `hf auth login` or set '
        "`HF_TOKEN`.",
    ),
    zh=Words(
        "未找到数据集 `{name}`:既没有本地文件,Hub 上也没有",
        "相对路径先在工作目录中查找,然后在 Hub 上查找该名称;私有数据集看起来与不存在一样。",
        '检查拼写;本地数据用绝对路径或 `load_dataset("json", data_files="/path/file.jsonl")`;私有数据集用'
        " `hf auth login` 登录或设置 `HF_TOKEN`。",
    ),
)

LOG_MESSAGE_SAVED = Message(
    en=Words(
        "a folder made by `save_to_disk` was given to `load_dataset`",
        "Such a folder holds Arrow files with their own state, which `load_dataset` does not read.",
        "Load it with `datasets.load_from_disk(PATH)`, or write JSON lines or Parquet "
        "(`dataset.to_parquet(...)`) for scripts that call `load_dataset`.",
    ),
    zh=Words(
        "把 `save_to_disk` 生成的目录交给了 `load_dataset`",
        "这种目录存放带有自身状态的 Arrow 文件,`load_dataset` 不会读取。",
        "用 `datasets.load_from_disk(PATH)` 加载;若脚本调用 `load_dataset`,则写成 JSON lines 或 "
        "Parquet(`dataset.to_parquet(...)`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Tell a folder of `save_to_disk` from one that is not there."""
    name = hits.get("name")
    message = LOG_MESSAGE if name else LOG_MESSAGE_SAVED
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), name=(name or "").rstrip("."))

"""A file from the Hub ended before (or after) its announced size.

## What it means
The library compares what arrived with what the server announced.
## What it does to a run
OSError while the model or data set is fetched.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
https://github.com/huggingface/huggingface_hub/blob/v0.34.0/src/huggingface_hub/file_download.py
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="HUB016", name="download-of-wrong-size", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"OSError: Consistency check failed: file should be of size (?P<expected>\d{1,15}) but has size "
            r"(?P<actual>\d{1,15})"
        ),
        Message(
            en=Words(
                "a download has {actual} bytes where {expected} were announced",
                "The connection was cut, a proxy or mirror (`HF_ENDPOINT`) handed out a page of its own or an "
                "older file, several processes wrote the same file, or the disk is full.",
                "Delete what is there and fetch it once, before the launch: `hf download REPO --force-download` "
                "(`huggingface-cli download` before 0.34); check `df -h` and `HF_ENDPOINT`; then "
                "`HF_HUB_OFFLINE=1` in the run.",
            ),
            zh=Words(
                "下载得到 {actual} 字节,而声明为 {expected}",
                "连接被中断,代理或镜像(`HF_ENDPOINT`)返回了自己的页面或旧文件,多个进程写同一文件,或磁盘已满。",
                "删除已有文件,并在启动前单独下载一次:`hf download REPO --force-download`(0.34 之前用 "
                "`huggingface-cli download`);检查 `df -h` 与 `HF_ENDPOINT`;之后在运行中设 `HF_HUB_OFFLINE=1`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

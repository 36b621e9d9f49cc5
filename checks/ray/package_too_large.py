"""The working_dir of a Ray job is too large to upload.

## What it means
Ray packs the whole folder into a zip and sends it to the cluster, which refuses large ones.
## What it does to a run
The job is not started.
## What to do
Keep checkpoints and data out of the folder.
## How it is found
Ray's messages about packages.
## References
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY008", name="ray-package-too-large", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Package size \((?P<size>[\d.]{1,12}[KMG]iB)\) exceeds the maximum size of"
        r" (?P<limit>[\d.]{1,12}[KMG]iB)"
    ),
    Signature(r"aiohttp\.web_exceptions\.HTTPRequestEntityTooLarge"),
    Signature(
        r"File (?P<file>[^\n]{1,200}) is very large \((?P<large>[\d.]{1,12}[KMG]iB)\)\. Consider"
        r" adding this file to the 'excludes'",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the working_dir that is uploaded to Ray is too large{size}",
        "Ray packs everything below `working_dir`, with checkpoints, datasets, .git and logs, and "
        "uploads it; the limit is a few hundred MiB (100 MB at the dashboard of older releases).",
        'Exclude what is not code: `runtime_env={{"excludes": ["*.safetensors", "checkpoints/", '
        '".git/"]}}` or a .gitignore in the folder; move checkpoints and data outside of '
        "`working_dir`, or install the code on the nodes and leave `working_dir` out.",
    ),
    zh=Words(
        "上传到 Ray 的 working_dir 过大{size}",
        "Ray 会打包 `working_dir` 下的所有内容(包括检查点、数据集、.git 与日志)并上传;上限为几百 MiB("
        "旧版 dashboard 为 100 MB)。",
        '排除代码之外的内容:`runtime_env={{"excludes": ["*.safetensors", "checkpoints/", ".git/"]}}`,'
        "或在该目录放 .gitignore;把检查点与数据移到 `working_dir` 之外,或在各节点安装代码而不设 "
        "`working_dir`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """With the size where Ray tells it; any server on aiohttp may refuse what is too large."""
    size, limit = hits.get("size"), hits.get("limit")
    told = f": {size}, at most {limit}" if size else ""
    frames = [frame for hit in hits for frame in hit.frames]
    if not size and frames and not any("ray" in re.split(r"[\\/.]", frame) for frame in frames):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), size=told,
        confidence=CONFIRMED if size or frames else LIKELY,
    )  # fmt: skip

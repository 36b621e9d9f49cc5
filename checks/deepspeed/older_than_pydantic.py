"""The installed DeepSpeed was written for pydantic 1.

## What it means
DeepSpeed before 0.12 defines its configuration with pydantic's first version; pydantic 2 renamed what it
uses. The requirement is only in the metadata, which a later upgrade of pydantic breaks.
## What it does to a run
Installing or importing DeepSpeed fails with an AttributeError about FieldInfo.
## What to do
Upgrade DeepSpeed to 0.12 or newer, or install pydantic 1.
## How it is found
In a log: by the AttributeError.
## References
https://github.com/deepspeedai/DeepSpeed/issues/4105
https://docs.pydantic.dev/latest/migration/
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP020", name="deepspeed-older-than-pydantic", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AttributeError: 'FieldInfo' object has no attribute 'required'", frame=r"deepspeed[\\/]"),
    Signature(r"^\s{2,12}AttributeError: 'FieldInfo' object has no attribute 'required'"),  # pip quotes a build so
    Signature(r"PydanticImportError: `BaseSettings` has been moved", frame=r"deepspeed/"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed DeepSpeed does not work with pydantic 2",
        "This release of DeepSpeed (before 0.12) uses the interface of pydantic 1, and pydantic 2 is "
        "installed beside it or in the build environment.",
        'Install a newer DeepSpeed, `pip install -U "deepspeed>=0.12"`, or pin `pip install '
        '"pydantic<2"` and, for an installation from source, add `--no-build-isolation`.',
    ),
    zh=Words(
        "已安装的 DeepSpeed 不能与 pydantic 2 一起工作",
        "该版本的 DeepSpeed(0.12 之前)使用 pydantic 1 的接口,而旁边或构建环境中安装的是 pydantic 2。",
        '安装更新的 DeepSpeed:`pip install -U "deepspeed>=0.12"`;或固定 `pip install "pydantic<2"`,从源码'
        "安装时再加 `--no-build-isolation`。",
    ),
)

_QUOTED = 1  # position of a pattern; pip does not say there which package it builds


def explain(hits: Hits) -> Finding:
    """Certain where DeepSpeed's own frames are seen."""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if hits.first.signature == _QUOTED else CONFIRMED,
        commands=("pip install -U 'deepspeed>=0.12'",),
    )  # fmt: skip

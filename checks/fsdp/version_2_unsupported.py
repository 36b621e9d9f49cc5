"""FSDP2 is asked for, and accelerate or torch is too old for it.

## What it means
`fsdp_version: 2` needs accelerate 1.6.0 and torch 2.6.0. An older accelerate does not know the key and passes over it.
## What it does to a run
An older torch ends with `FSDP2 requires PyTorch >= 2.6.0`. An older accelerate runs FSDP1 without a word, with its
defaults where the file says what FSDP2 is to do.
## What to do
Install the releases that have FSDP2, or write an FSDP1 configuration.
## How it is found
`fsdp_version` against the installed releases.
In a log: by accelerate's exception.
## References
https://github.com/huggingface/accelerate/blob/v1.6.0/src/accelerate/utils/dataclasses.py
https://huggingface.co/docs/accelerate/concept_guides/fsdp1_vs_fsdp2
"""

from __future__ import annotations

from doctor.checks.fsdp._helpers import fsdp_setting, uses_fsdp, version
from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(id="FSD001", name="fsdp-version-2-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ImportError: FSDP2 requires PyTorch >= (?P<minimum>[\w.]{1,16})"),)

LOG_MESSAGE = Message(
    en=Words(
        "FSDP2 was asked for (`fsdp_version: 2`), and torch is older than {minimum}",
        "accelerate refuses version 2 of FSDP with an older torch, on every rank before anything is loaded.",
        "Install torch {minimum} or newer, or set `fsdp_version: 1` in the accelerate configuration.",
    ),
    zh=Words(
        "要求 FSDP2(`fsdp_version: 2`),而 torch 早于 {minimum}",
        "accelerate 在加载任何东西之前就在每个 rank 上拒绝旧 torch 使用 FSDP 第 2 版。",
        "安装 torch {minimum} 或更新版本,或在 accelerate 配置中设置 `fsdp_version: 1`。",
    ),
)

TORCH = Message(
    en=Words(
        "`fsdp_version: 2` with torch {version}, and FSDP2 needs 2.6.0",
        "Every rank ends with `FSDP2 requires PyTorch >= 2.6.0`.",
        "Install torch 2.6.0 or newer, or use `fsdp_version: 1`.",
    ),
    zh=Words(
        "`fsdp_version: 2`,而 torch 是 {version},FSDP2 需要 2.6.0",
        "每个 rank 都会以 `FSDP2 requires PyTorch >= 2.6.0` 退出。",
        "安装 torch 2.6.0 或更新版本,或改用 `fsdp_version: 1`。",
    ),
)
ACCELERATE = Message(
    en=Words(
        "`fsdp_version: 2` with accelerate {version}, which has only FSDP1",
        "accelerate before 1.6.0 passes over the key without a word and runs FSDP1, with its defaults for what the "
        "file says in FSDP2's words.",
        "Install accelerate 1.6.0 or newer, or write an FSDP1 configuration.",
    ),
    zh=Words(
        "`fsdp_version: 2`,而 accelerate {version} 只有 FSDP1",
        "1.6.0 之前的 accelerate 不作提示就跳过该键,以 FSDP1 运行;文件里按 FSDP2 写的内容都会取默认值。",
        "安装 accelerate 1.6.0 或更新版本,或改写成 FSDP1 的配置。",
    ),
)


@check(PROBLEM)
def version_2_unsupported(launch: Launch, accelerate: AccelerateConfig | None, packages: Packages) -> Judgement:
    """Both releases are told, for either is enough."""
    if not uses_fsdp(launch, accelerate) or version(launch, accelerate) != 2:
        return
    setting = fsdp_setting(launch, accelerate, "version")
    for name, message, old in (("torch", TORCH, "<2.6"), ("accelerate", ACCELERATE, "<1.6")):
        if packages.matches(name, old):
            yield found(
                PROBLEM,
                message,
                version=packages.version(name),
                where=place_of(setting),
                commands=(f"pip install '{name}>={old[1:]}'",),
                evidence=proofs(setting),
            )

"""An attention kernel of the Hub is asked for, and `kernels` is not installed.

## What it means
A name with a slash (`kernels-community/flash-attn`) is a kernel that the package `kernels` fetches from the Hub of
Hugging Face.
## What it does to a run
Loading the model ends with ``ImportError: `kernels` is either not installed or uses an incompatible version``.
## What to do
Install `kernels`, or use `sdpa`.
## How it is found
`attn_implementation` as the run will have it, against the installed packages.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/integrations/hub_kernels.py
https://huggingface.co/docs/kernels/index
"""

from __future__ import annotations

from doctor.checks.flash_attn._helpers import asked_attention, is_kernel
from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="FLA004", name="kernels-package-missing", severity=ERROR, since="0.1", affects={"transformers": ">=4.53"}
)

MESSAGE = Message(
    en=Words(
        '`attn_implementation="{attention}"`, and the package `kernels` is not installed',
        "The name is that of a kernel on the Hub, which `kernels` fetches. Loading the model ends with ImportError.",
        "Install `kernels`, or use `sdpa`.",
    ),
    zh=Words(
        '设置了 `attn_implementation="{attention}"`,但没有安装 `kernels` 包',
        "这是 Hub 上的 kernel 名称,需要由 `kernels` 下载。加载模型时会抛出 ImportError。",
        "安装 `kernels`,或使用 `sdpa`。",
    ),
)


@check(PROBLEM)
def kernels_missing(training: Training, packages: Packages) -> Judgement:
    """Judge a proven absence only."""
    setting = asked_attention(training)
    if setting is None or not is_kernel(setting.value) or "kernels" in packages.distributions:
        return
    if not packages.complete:
        yield Skip("the list of installed packages is not complete")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=("pip install kernels", 'attn_implementation="sdpa"'),
        attention=setting.value,
    )

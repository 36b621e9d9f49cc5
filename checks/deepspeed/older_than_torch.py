"""The installed DeepSpeed takes names from torch that this torch no longer has.

## What it means
DeepSpeed before 0.8.2 imports `torch._six`, which torch 2.0 removed; DeepSpeed before 0.14.4 imports
private names of torch's elastic launcher, which torch 2.3 and 2.4 changed.
## What it does to a run
`import deepspeed` fails, and with it everything that imports it when it is installed: TRL, accelerate, the
accelerate launcher, also in runs that do not use it.
## What to do
Upgrade DeepSpeed, or uninstall it where it is not used.
## How it is found
In a log: by the import that fails inside DeepSpeed.
## References
https://github.com/deepspeedai/DeepSpeed/pull/2863
https://github.com/deepspeedai/DeepSpeed/releases/tag/v0.14.4
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP019", name="deepspeed-older-than-torch", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ModuleNotFoundError: No module named '(?P<six>torch\._six)'", frame=r"deepspeed/"),
    Signature(
        r"cannot import name '(?P<name>log|_get_socket_with_port)' from"
        r" 'torch\.distributed\.elastic\.agent\.server\.api'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed DeepSpeed is too old for this torch: it imports `{name}`",
        "torch no longer has the name, so `import deepspeed` fails, and with it TRL, Transformers or "
        "accelerate, which import DeepSpeed whenever it is installed, also in runs that do not use it.",
        'Upgrade it: `pip install -U "deepspeed>={minimum}"`, or `pip uninstall deepspeed` where it is not used.',
    ),
    zh=Words(
        "已安装的 DeepSpeed 对该 torch 来说太旧:它要导入 `{name}`",
        "torch 已没有该名称,因此 `import deepspeed` 失败,连带导致 TRL、Transformers 或 accelerate 失败:只"
        "要安装了 DeepSpeed,它们就会导入它,即使训练并不使用。",
        '升级:`pip install -U "deepspeed>={minimum}"`;不用时可 `pip uninstall deepspeed`。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Each name left DeepSpeed in a release of its own."""
    six = hits.get("six")
    minimum = "0.9.0" if six else "0.14.4"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"pip install -U 'deepspeed>={minimum}'",),
        name=six or hits.get("name"),
        minimum=minimum,
    )

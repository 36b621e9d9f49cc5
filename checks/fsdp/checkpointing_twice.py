"""Activation checkpointing is turned on by FSDP and by the training arguments.

## What it means
`fsdp_activation_checkpointing` is true in the accelerate file, and `gradient_checkpointing` of the training is on.
In TRL from 0.22.0 it is on by default.
## What it does to a run
The Trainer refuses both: `The activation_checkpointing in FSDP config and the gradient_checkpointing in training arg
can't be set to True simultaneously`.
## What to do
Keep FSDP's and set `gradient_checkpointing=False` in the training arguments.
## How it is found
The key of the file, and the argument or its default in the installed release.
In a log: by the exception of the Trainer.
## References
https://github.com/huggingface/transformers/issues/30404
https://github.com/huggingface/transformers/blob/v4.56.2/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.checks.fsdp._helpers import fsdp_setting, uses_fsdp
from doctor.checks.launch._helpers import effective, proofs, written
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="FSD004", name="fsdp-checkpointing-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: The activation_checkpointing in FSDP config and the gradient_checkpointing in"
        r" training arg can't be set to True",
    ),
    Signature(
        r"ValueError: `fsdp_config\['activation_checkpointing'\]` \(FSDP's own activation checkpointing\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "activation checkpointing is on in FSDP and in the training arguments",
        "Both would recompute the same layers, so the Trainer refuses the pair.",
        "Set `gradient_checkpointing=False` and keep `fsdp_activation_checkpointing: true`, or the other "
        "way round; with FSDP its own one is the better choice.",
    ),
    zh=Words(
        "FSDP 与训练参数都开启了激活检查点",
        "两者会重复计算同样的层,因此 Trainer 拒绝同时使用。",
        "设置 `gradient_checkpointing=False` 并保留 `fsdp_activation_checkpointing: true`,或反之;使用 "
        "FSDP 时更宜选其自带的。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`fsdp_activation_checkpointing` and `{argument}` ({place}) are both on",
        "The Trainer ends with `activation_checkpointing in FSDP config and the gradient_checkpointing in training arg "
        "can't be set to True simultaneously`.",
        "Keep FSDP's, and set `{argument}=False` in the training arguments.",
    ),
    zh=Words(
        "`fsdp_activation_checkpointing` 与 `{argument}`({place})同时打开",
        "Trainer 会以 `activation_checkpointing in FSDP config and the gradient_checkpointing in training arg can't be "
        "set to True simultaneously` 退出。",
        "保留 FSDP 的,在训练参数中设置 `{argument}=False`。",
    ),
)


@check(PROBLEM)
def checkpointing_twice(
    launch: Launch, accelerate: AccelerateConfig | None, training: Training, packages: Packages | None
) -> Judgement:
    """Both names that Transformers has had for the argument."""
    setting = fsdp_setting(launch, accelerate, "activation_checkpointing")
    if not uses_fsdp(launch, accelerate) or setting is None or not truth(setting.value) or training.trainer is None:
        return
    for name in ("gradient_checkpointing", "activation_checkpointing"):
        argument = effective(training, packages, name)
        if argument is not None and argument.value is not None and truth(argument.value):
            yield found(
                PROBLEM,
                MESSAGE,
                argument=name,
                place=written(argument),
                where=place_of(argument, setting),
                commands=(f"{name}=False",),
                evidence=proofs(setting, argument),
            )
            return

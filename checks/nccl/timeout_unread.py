"""NCCL_TIMEOUT is set, and neither NCCL nor torch reads it.

## What it means
No release of NCCL and of torch's process groups looks at a variable of this name. The time after which a collective is
given up is an argument of `init_process_group`; Transformers and TRL call it `ddp_timeout` and hand it on.
## What it does to a run
The time-out stays at its default, 600 s for NCCL in torch and 1800 s with Transformers, whatever the variable says.
## What to do
Set `ddp_timeout` in the training arguments.
## How it is found
The variable is set and the training arguments do not have `ddp_timeout`.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.ddp_timeout
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import group_size, shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="NCC010", name="nccl-timeout-unread", severity=INFO, since="0.1")

MESSAGE = Message(
    en=Words(
        "`NCCL_TIMEOUT={value}` is read by neither NCCL nor torch",
        "The time-out of the collectives stays what `ddp_timeout` says, 1800 s by default. Only a script that reads "
        "the variable itself would heed it.",
        "Set `ddp_timeout` in the training arguments.",
    ),
    zh=Words(
        "`NCCL_TIMEOUT={value}` 既不被 NCCL 也不被 torch 读取",
        "集合通信的超时仍由 `ddp_timeout` 决定,默认 1800 秒。只有自行读取该变量的脚本才会理会它。",
        "在训练参数中设置 `ddp_timeout`。",
    ),
)


@check(PROBLEM)
def timeout_unread(environment: Environment, training: Training, world: World) -> Judgement:
    """Judge training with Transformers or TRL, which have an argument for it."""
    value = value_of(environment, training, "NCCL_TIMEOUT")
    if not value or not training.complete or training.get("ddp_timeout") is not None or group_size(world, None) < 2:
        return
    if training.config_class is None:
        return
    seconds = value if value.isdigit() else "7200"
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        confidence=LIKELY,
        where=where_set(training, "NCCL_TIMEOUT"),
        commands=(f"--ddp_timeout {seconds}",),
        evidence=shown("NCCL_TIMEOUT", value),
    )

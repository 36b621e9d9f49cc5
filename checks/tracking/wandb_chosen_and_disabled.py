"""Weights & Biases is chosen and switched off at once.

## What it means
`report_to` names wandb, and WANDB_DISABLED is on, which makes Transformers before 5 act as if wandb were not
installed.
## What it does to a run
The trainer's constructor ends with `RuntimeError: You specified report_to='wandb' but also set the WANDB_DISABLED
environment variable`, in older releases with `WandbCallback requires wandb to be installed`.
## What to do
Unset the variable, or set `report_to` to none. To keep the argument and send nothing use WANDB_MODE=disabled.
## How it is found
The argument and the variable as the run will have them.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/integrations/integration_utils.py
https://github.com/huggingface/transformers/blob/v4.40.0/src/transformers/integrations/integration_utils.py
"""

from __future__ import annotations

from doctor.checks.hub._helpers import means_yes
from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.checks.tracking._helpers import chosen, place, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.environment import Environment
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRK004",
    name="wandb-chosen-and-disabled",
    severity=ERROR,
    since="0.1",
    affects={"transformers": ">=4.40,<5.0"},
)
VARIABLE = "WANDB_DISABLED"

MESSAGE = Message(
    en=Words(
        "`report_to` names wandb, and `WANDB_DISABLED={value}`",
        "Transformers then acts as if wandb were not installed, and the trainer's constructor ends with "
        "`RuntimeError` on every rank.",
        "Unset the variable, or set report_to to none. To keep the argument and send nothing use WANDB_MODE=disabled.",
    ),
    zh=Words(
        "`report_to` 写了 wandb,同时设置了 `WANDB_DISABLED={value}`",
        "Transformers 会当作没有安装 wandb,每个 rank 上的训练器构造函数都会以 `RuntimeError` 失败。",
        "取消该变量,或把 report_to 设为 none。若要保留参数又不上报,请用 WANDB_MODE=disabled。",
    ),
)


@check(PROBLEM)
def wandb_chosen_and_disabled(environment: Environment, training: Training) -> Judgement:
    """Judge what was chosen by name; "all" leaves a disabled wandb out."""
    value = value_of(environment, training, VARIABLE)
    if not means_yes(value) or "wandb" not in chosen(training):
        return
    setting = training.get("report_to")
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        where=place(setting) or where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=(*quoted(setting), *shown(VARIABLE, value or "")),
    )

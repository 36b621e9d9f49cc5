"""Gradient clipping is switched off.

## What it means
The Trainer clips the norm of the gradients to `max_grad_norm`, 1.0 by default; a value of 0 switches it
off. RL gradients have rare, huge outliers: one group with a single rewarded completion is enough.
## What it does to a run
A single step can throw the policy far off; in bf16 nothing else stops it.
## What to do
Leave `max_grad_norm` at its default of 1.0.
## How it is found
`max_grad_norm` as set.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.max_grad_norm
https://arxiv.org/abs/1211.5063
"""

from __future__ import annotations

from doctor.checks.trl._helpers import is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.reading import number, place_of
from doctor.facts.training import Training

PROBLEM = Problem(id="RLX002", name="gradient-clipping-off", severity=INFO, since="0.1")

MESSAGE = Message(
    en=Words(
        "`max_grad_norm={value}` switches gradient clipping off",
        "One outlier among the gradients can throw the policy far off in a single step. It is a choice; "
        "published GRPO runs clip, mostly at 1.0.",
        "Set `max_grad_norm=1.0`, the default, unless this is meant.",
    ),
    zh=Words(
        "`max_grad_norm={value}` 关闭了梯度裁剪",
        "梯度中的一个离群值就可能在一步之内使策略严重偏离。这可以是有意的选择;公开的 GRPO 训练大多裁剪到 1.0。",
        "除非有意如此,请设为默认值 `max_grad_norm=1.0`。",
    ),
)


@check(PROBLEM)
def clipping_off(training: Training) -> Judgement:
    """Judge an explicit value; DeepSpeed's own clipping is another setting."""
    setting = training.get("max_grad_norm")
    if not is_grpo(training) or setting is None:
        return
    value = number(setting.value) if setting.known else None
    if value is None:
        yield Skip("`max_grad_norm` could not be read without running the script")
    elif value <= 0:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=("max_grad_norm=1.0",),
            value=f"{value:g}",
        )

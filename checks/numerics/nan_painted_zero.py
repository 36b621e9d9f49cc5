"""A NaN loss is logged as 0.

## What it means
`logging_nan_inf_filter`, on by default in Transformers, leaves NaN and infinite losses out of the logged mean. When
every
step since the last line was NaN, the line says `loss: 0`.
## What it does to a run
The loss looks perfect while the weights are lost; only `grad_norm: nan` or `entropy: None` tell the truth.
## What to do
Treat the run as NaN from that step on. Set `logging_nan_inf_filter=False` to see it in the loss next time.
## How it is found
`loss` is exactly 0 in a step where `grad_norm` is NaN, or where `entropy` is None although completions were scored.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.logging_nan_inf_filter
https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="NUM007", name="nan-painted-zero", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`loss` is logged as 0 at step {step} while `{name}` is NaN",
        "The Trainer leaves NaN losses out of its log (`logging_nan_inf_filter`), so the loss reads 0 when "
        "every step was NaN. The run has been broken since step {step}, however good its loss looks.",
        "Set `logging_nan_inf_filter=False`, and mend the cause of the NaN.",
    ),
    zh=Words(
        "第 {step} 步 `loss` 记录为 0,而 `{name}` 为 NaN",
        "Trainer 会把 NaN 的 loss 从日志中剔除(`logging_nan_inf_filter`),每一步都是 NaN 时 loss 就显示为 0。无"
        "论 loss 多好看,训练自第 {step} 步起已经坏掉。",
        "设置 `logging_nan_inf_filter=False`,并解决 NaN 的根源。",
    ),
)

#: all completions cut off and masked leave TRL no token to take an entropy of, which is no NaN of the model
ALL_CUT_OFF = 1.0


@rule(
    PROBLEM,
    needs=("loss", "grad_norm", "entropy", "completions/clipped_ratio"),
    symptom_of=("NUM006", "RLX006", "RLX007"),
)
class NanPaintedZero:
    """Puts loss, gradient and entropy of one step side by side."""

    def __init__(self) -> None:
        self._step: Optional[int] = None
        self._loss_is_zero = False
        self._clipped: Optional[float] = None
        self._alarm = Alarm(1, 5)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a gradient or an entropy against the loss of the same step."""
        if point.name == "loss":
            self._step, self._loss_is_zero, self._clipped = point.step, point.value == 0, None
            return None
        if point.name == "completions/clipped_ratio":
            self._clipped = point.value
            return None
        if point.step != self._step or not self._loss_is_zero:
            return None
        bad = math.isnan(point.value)
        if point.name == "entropy" and (self._clipped is None or self._clipped >= ALL_CUT_OFF):
            return None
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, name=point.name, step=step_text(point.step), **sighting(point)
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in of which none has a loss of zero."""
        losses = stretch["loss"]
        if self._loss_is_zero or 0.0 in losses.values:
            return False
        self._step = losses.steps[-1] if losses.values else self._step
        return True

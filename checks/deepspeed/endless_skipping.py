"""Every step is skipped, and the run goes on as if nothing were wrong.

## What it means
With fp16 and ZeRO stage 0 DeepSpeed's optimizer stops lowering the loss scale at its minimum and never raises, unlike
ZeRO 1, 2 and 3; torch's GradScaler has no minimum at all. Both then skip step after step.
## What it does to a run
Nothing is learned any more, the learning rate stands still, and GPUs are paid for until someone looks.
## What to do
Stop the run. Use bf16, or find the cause of the overflows; go back to a checkpoint from before them.
## How it is found
Five overflows running with the loss scale at 1 or below, or 40 logged steps running with an infinite `grad_norm`: more
than any stage survives that raises (18 overflows from 2^16, 34 from 2^32).
## References
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/fused_optimizer.py
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/loss_scaler.py
https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.loss_scale import ATTEMPTED
from doctor.core.problem import ERROR, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="DSP017", name="deepspeed-endless-skipping", severity=ERROR, since="0.1")

AT_MINIMUM = Message(
    en=Words(
        "{count} overflows running with the loss scale at {scale}: no step is applied",
        "The scale cannot fall further, and this optimizer (ZeRO stage 0, or torch's GradScaler) skips on "
        "without ever ending the run. Nothing has been learned since.",
        "Stop the run, use bf16 or mend the cause of the overflows, and go on from a checkpoint before them.",
    ),
    zh=Words(
        "loss scale 为 {scale} 时连续溢出 {count} 次:没有任何一步被应用",
        "scale 已无法再减,而此优化器(ZeRO stage 0 或 torch 的 GradScaler)会一直跳过而不终止训练。此后什么也没有学到。",
        "停止训练,使用 bf16 或解决溢出的根源,并从溢出之前的检查点继续。",
    ),
)
INFINITE = Message(
    en=Words(
        "`grad_norm` is inf in {count} steps running, up to step {step}",
        "Each of these steps was skipped or has ruined the weights; either way nothing has been learned "
        "since. ZeRO 1 to 3 would have ended the run by now, so the scaler is one that never does.",
        "Stop the run, use bf16 or mend the cause of the overflows, and go on from a checkpoint before them.",
    ),
    zh=Words(
        "截至第 {step} 步,`grad_norm` 连续 {count} 步为 inf",
        "这些步要么被跳过,要么已毁掉权重;无论如何此后什么也没有学到。ZeRO 1 到 3 早该终止训练,可见所用的 "
        "scaler 从不终止。",
        "停止训练,使用 bf16 或解决溢出的根源,并从溢出之前的检查点继续。",
    ),
)

#: DeepSpeed's `min_loss_scale` (https://www.deepspeed.ai/docs/config-json/#fp16-training-options)
MINIMUM = 1.0

#: overflows at the minimum: ZeRO 1 to 3 raise at the first
OVERFLOWS = 5

#: infinite gradients running: ZeRO 1 to 3 raise at the 34th overflow from 2^32
ROWS = 40


@rule(
    PROBLEM,
    needs=("loss_scale", ATTEMPTED, "min_loss_scale", "overflow", "skipped_steps", "grad_norm"),
    symptom_of=("NUM006",),
)
class EndlessSkipping:
    """Counts overflows at the minimum, and rows of infinite gradients."""

    def __init__(self) -> None:
        self._scale: Optional[float] = None
        self._minimum = MINIMUM
        self._skipped: Optional[float] = None
        self._overflows, self._rows = Alarm(OVERFLOWS, calm=1), Alarm(ROWS, calm=1)

    def update(self, point: Point) -> Optional[Finding]:
        """Take one point in."""
        if point.name in ("loss_scale", ATTEMPTED):
            self._scale = point.value
        elif point.name == "min_loss_scale":
            self._minimum = point.value
        elif point.name == "overflow":
            return self._overflow(point, 1)
        elif point.name == "skipped_steps":
            more = 0.0 if self._skipped is None else point.value - self._skipped
            self._skipped = point.value
            return self._overflow(point, more)
        elif self._rows.see(math.isinf(point.value), point.step) and not self._overflows.on:
            return found(PROBLEM, INFINITE, count=ROWS, step=step_text(point.step), **sighting(point, self._rows.since))
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell nothing but finite gradients."""
        norms = stretch["grad_norm"]
        if (
            any(stretch[name].values for name in ("loss_scale", ATTEMPTED, "overflow", "skipped_steps"))
            or not norms.finite
        ):
            return False
        self._rows.rest(len(norms))
        return True

    def _overflow(self, point: Point, more: float) -> Optional[Finding]:
        bad = more > 0 and self._scale is not None and self._scale <= self._minimum
        if not self._overflows.see(bad, point.step) or self._rows.on:
            return None
        return found(
            PROBLEM, AT_MINIMUM, count=OVERFLOWS, scale=f"{self._scale:g}", **sighting(point, self._overflows.since)
        )

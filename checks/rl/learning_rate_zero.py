"""The learning rate is zero all along.

## What it means
The scheduler has given 0 from the first step: `learning_rate=0`, a scheduler that was built for another number of
steps,
`max_steps` smaller than the warm-up, or a value that became 0 on its way (a string, a config key of another name).
## What it does to a run
The optimizer changes nothing. The run costs its GPUs, and ends with the model that it began with.
## What to do
Look at `learning_rate`, `lr_scheduler_type`, `warmup_steps` and `max_steps`; with DeepSpeed also at the `scheduler`
section of its JSON, which decides where it stands.
## How it is found
`learning_rate` is exactly 0 in the first 20 logged steps, or in all steps of a run that logged at least 5. Steps whose
gradient overflowed do not count: the schedule stands still in them.
## References
https://huggingface.co/docs/transformers/main_classes/optimizer_schedules
https://www.deepspeed.ai/docs/config-json/#scheduler-parameters
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule

PROBLEM = Problem(id="RLX017", name="learning-rate-zero", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`learning_rate` is 0 in all {count} steps logged so far, up to step {step}",
        "The optimizer changes nothing: the run ends with the model that it began with.",
        "Check `learning_rate`, `lr_scheduler_type`, `warmup_steps` and `max_steps`; with DeepSpeed also the "
        "`scheduler` section of its JSON.",
    ),
    zh=Words(
        "截至第 {step} 步,已记录的 {count} 步中 `learning_rate` 全为 0",
        "优化器没有改变任何东西:训练结束时的模型与开始时相同。",
        "检查 `learning_rate`、`lr_scheduler_type`、`warmup_steps` 和 `max_steps`;使用 DeepSpeed 时还要检查其 "
        "JSON 的 `scheduler` 部分。",
    ),
)

#: logged steps; a warm-up begins at 0 and leaves it with the first applied step
FIRST, WHOLE_RUN = 20, 5


@rule(PROBLEM, needs=("grad_norm", "learning_rate"), symptom_of=("NUM005", "NUM006", "DSP017"))
class LearningRateZero:
    """Looks at the beginning only: a schedule may end at 0."""

    def __init__(self) -> None:
        self._zeros = 0
        self._settled = self._overflowed = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count zeros until the first rate above."""
        if point.name == "grad_norm":
            self._overflowed = not math.isfinite(point.value)
            return None
        if self._settled or self._overflowed:
            return None
        if point.value != 0:
            self._settled = True
            return None
        self._zeros += 1
        self._last = point
        return self._found(point) if self._zeros == FIRST else None

    def calm(self, _stretch: Stretch) -> bool:
        """Take every row in once the beginning is over."""
        return self._settled

    def _found(self, point: Point) -> Finding:
        self._settled = True
        return found(PROBLEM, MESSAGE, count=self._zeros, step=step_text(point.step), **sighting(point))

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._settled or self._last is None or self._zeros < WHOLE_RUN:
            return None
        return self._found(self._last)

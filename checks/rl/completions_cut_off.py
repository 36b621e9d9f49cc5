"""Nearly all completions are cut off at the length limit.

## What it means
A completion that reaches `max_completion_length` without an end token is truncated. When nearly all are, the limit is
too
small for the task, the model never learned to stop, or its end token is not the one that the trainer looks for.
## What it does to a run
Answers are cut off before they are given, so the reward judges fragments; with `mask_truncated_completions` (or a
filter
for overlong ones) nothing is left to learn from. Generation always costs its maximum.
## What to do
Read some completions. Raise `max_completion_length`, or reward brevity; for a base model see that the chat template's
end
token is the `eos_token` that generation uses.
## How it is found
The median of `completions/clipped_ratio` over the last 20 logged steps is 0.95 or more.
## References
https://huggingface.co/docs/trl/grpo_trainer
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm, Window

PROBLEM = Problem(id="RLX011", name="completions-cut-off", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{share} of the completions are cut off at the length limit, up to step {step}",
        "Answers end before they are given, so rewards judge fragments, and each generation costs its maximum.",
        "Read some completions; raise `max_completion_length`, or see that the model's end token is the "
        "`eos_token` that generation stops at.",
    ),
    zh=Words(
        "截至第 {step} 步,{share} 的生成在长度上限处被截断",
        "答案还没给出就被截断,奖励评的是残片,而且每次生成都花费最大的代价。",
        "查看一些生成;提高 `max_completion_length`,或确认模型的结束 token 就是生成时停止所用的 `eos_token`。",
    ),
)

#: share that counts as all, and logged steps of the median
SHARE, STEPS = 0.95, 20


@rule(PROBLEM, needs=("completions/clipped_ratio",))
class CompletionsCutOff:
    """Watches the median of the share."""

    def __init__(self) -> None:
        self._recent = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one share."""
        if not math.isfinite(point.value):
            return None
        self._recent.push(point.value)
        median = self._recent.median
        if not self._recent.full or not self._alarm.see(median >= SHARE, point.step):
            return None
        return found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY,
            share=f"{100 * median:.0f} %",
            step=step_text(point.step),
            **sighting(point),
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose shares are all small."""
        shares = stretch["completions/clipped_ratio"]
        if not self._recent.full or not shares.finite or max(shares.high, self._recent.high) >= SHARE:
            return False
        self._recent.extend(shares.values)
        self._alarm.rest(len(shares))
        return True

"""The deviation of the rewards within a group is undefined.

## What it means
GRPO divides each reward's distance from its group's mean by the group's standard deviation. Of a group of one
completion
that deviation is undefined: NaN.
## What it does to a run
The advantages are NaN, with them loss, gradient and, after the first step, all weights; the log shows `loss: 0` and
`grad_norm: nan`, and the next generation dies or yields garbage.
## What to do
Use at least two generations per prompt, better 4 to 16.
## How it is found
`reward_std` is None or NaN in a step whose `reward` is a number.
## References
https://github.com/om-ai-lab/VLM-R1/issues/71
https://arxiv.org/abs/2402.03300
https://docs.pytorch.org/docs/stable/generated/torch.std.html
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="RLX007", name="group-of-one", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`reward_std` is NaN at step {step} although the rewards are numbers",
        "The standard deviation within a group of one completion is undefined, so the advantages are NaN, and "
        "after one step so are the weights. A group has one completion when `num_generations` is 1.",
        "Use at least two generations per prompt (`num_generations`, `rollout.n`), and go back to a "
        "checkpoint from before step {step}.",
    ),
    zh=Words(
        "第 {step} 步奖励是数值,`reward_std` 却为 NaN",
        "只有一个生成的组,其标准差没有定义,因此优势值为 NaN,一步之后权重也是 NaN。`num_generations` 为 1 时一"
        "组就只有一个生成。",
        "每个 prompt 至少生成两个(`num_generations`、`rollout.n`),并回到第 {step} 步之前的检查点。",
    ),
)


@rule(PROBLEM, needs=("reward", "reward_std"))
class GroupOfOne:
    """Compares the two figures of one step; TRL prints `reward` first."""

    def __init__(self) -> None:
        self._step: Optional[int] = None
        self._is_number = False
        self._alarm = Alarm(1, calm=5)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a deviation against the reward of the same step."""
        if point.name == "reward":
            self._step, self._is_number = point.step, math.isfinite(point.value)
            return None
        bad = math.isnan(point.value) and self._is_number and point.step == self._step
        if not self._alarm.see(bad, point.step):
            return None
        return found(PROBLEM, MESSAGE, confidence=LIKELY, step=step_text(point.step), **sighting(point))

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose deviations are all numbers."""
        rewards, deviations = stretch["reward"], stretch["reward_std"]
        if not deviations.finite:
            return False
        self._alarm.rest(len(deviations))
        if rewards.values:
            self._step, self._is_number = rewards.steps[-1], math.isfinite(rewards.values[-1])
        return True

"""The reward has collapsed.

## What it means
The reward had a level, or was rising, and has lost most of it: far more than its own scatter, and for long.
## What it does to a run
The policy has got worse than it was; from here training rarely finds its way back.
## What to do
Go back to the checkpoint with the best reward. Look at what changed first: `grad_norm`, `kl`, `entropy`, completion
length, `sampling_logp_difference`; lower the learning rate.
## How it is found
The median of the last 20 logged steps has lost at least half of what was gained since the beginning, or three
quarters of
a positive level, and lies more than 6 standard deviations (robust) below the best median, for 20 steps.
## References
https://arxiv.org/abs/2402.03300
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm, Baseline, Window

PROBLEM = Problem(id="RLX009", name="reward-collapsing", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`reward` has fallen from {best} to {value} by step {step}",
        "It is far outside the scatter of this run and has lasted for {count} logged steps. The policy has "
        "got worse, and rarely finds its way back.",
        "Go back to the checkpoint around step {peak}. Compare `grad_norm`, `kl`, `entropy` and completion "
        "length from there on, and lower the learning rate. A change of data at that step would look the same.",
    ),
    zh=Words(
        "`reward` 到第 {step} 步已从 {best} 降至 {value}",
        "降幅远超本次训练的波动,并已持续 {count} 个记录步。策略变差了,而且很少能自行恢复。",
        "回到第 {peak} 步附近的检查点。从那里开始比较 `grad_norm`、`kl`、`entropy` 和生成长度,并降低学习率。若"
        "那一步更换了数据,表现也会相同。",
    ),
)

#: steps of a median, and steps that the loss must last
STEPS = 20

#: share of the gain, and of a positive level, that must be lost
OF_GAIN, OF_LEVEL = 0.5, 0.75

#: standard deviations of single steps between the best median and now
SIGMAS = 6.0


@rule(PROBLEM, needs=("reward",), symptom_of=("NUM006", "NUM008", "RLX004", "RLX014"))
class RewardCollapsing:
    """Compares the median of the last steps with the best one so far."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._alarm = Alarm(STEPS, calm=STEPS)
        self._best: Optional[float] = None
        self._noise = 0.0
        self._peak: Optional[int] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one reward."""
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        if self._base.median is None or not self._recent.full:
            return None
        median = self._recent.median
        if self._best is None or median > self._best:
            self._best, self._peak = median, point.step
            self._noise = max(self._base.sigma, self._recent.sigma())
        if not self._alarm.see(self._lost(median), point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, best=f"{self._best:.3g}", value=f"{median:.3g}", count=STEPS,
            step=step_text(point.step), peak=step_text(self._peak), **sighting(point, self._alarm.since),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose medians stay between the best one and the edge of the scatter."""
        rewards, best = stretch["reward"], self._best
        if best is None or not rewards.finite:
            return False
        low, values = min(rewards.low, self._recent.low), rewards.values
        if best - low <= SIGMAS * self._noise and self._recent.most_above(best, values) < STEPS // 2:
            self._recent.extend(values)  # no median can lie outside: what takes most of the time is spared
            self._alarm.rest(len(values))
            return True
        recent = self._recent.copy()
        medians = recent.medians(values)
        if max(medians) > best or best - min(medians) > SIGMAS * self._noise:
            return False
        self._recent = recent
        self._alarm.rest(len(medians))
        return True

    def _lost(self, median: float) -> bool:
        best, first = self._best, self._base.median
        if best is None or first is None or best - median <= SIGMAS * self._noise:
            return False
        gain = best - first
        return best - median >= OF_GAIN * gain > SIGMAS * self._noise or (best > 0 and median <= (1 - OF_LEVEL) * best)

"""The gradient grows far beyond what it was.

## What it means
`grad_norm` is the norm before clipping. It scatters by a factor of a few; a lasting rise by more than an order of
magnitude means that the policy or the rollouts have left the region in which the objective is sound.
## What it does to a run
Clipping keeps the step short, but its direction is noise by now: reward falls, KL rises, and NaN often follows.
## What to do
Go back to a checkpoint from before the rise. Lower the learning rate, keep `max_grad_norm` at 1.0 or below, and check
whether rollout engine and trainer still agree (`sampling_logp_difference`).
## How it is found
Three logged steps running above 20 times the median of the run's first 5 steps, and above 10.
## References
https://arxiv.org/abs/1211.5063
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.max_grad_norm
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

PROBLEM = Problem(id="NUM008", name="gradient-exploding", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`grad_norm` is {value} at step {step}, {ratio} times what it was",
        "Single outliers are normal; this rise lasts. Clipping shortens the steps and cannot mend their "
        "direction, and NaN often follows.",
        "Go back to a checkpoint from before the rise, lower the learning rate, keep `max_grad_norm` at 1.0 "
        "or below, and check that rollout engine and trainer agree.",
    ),
    zh=Words(
        "`grad_norm` 在第 {step} 步为 {value},是此前的 {ratio} 倍",
        "个别离群值属正常现象,但这次的增长是持续的。裁剪只能缩短步长,无法纠正方向,之后常常出现 NaN。",
        "回到增长之前的检查点,降低学习率,将 `max_grad_norm` 保持在 1.0 或以下,并检查 rollout 引擎与训练器是否一致。",
    ),
)

#: healthy norms scatter log-normally by a factor of two or three, with rare outliers of ten; three running of twenty
#: were not seen in 2 million simulated steps (tests/rules)
TIMES, RUNNING = 20.0, 3

#: ten times the usual `max_grad_norm` of 1.0; below it nothing explodes
FLOOR = 10.0

#: steps of the first baseline; later the median of the last 100 steps stands for it when that is higher
FIRST, LAST = 5, 100


@rule(PROBLEM, needs=("grad_norm",), symptom_of=("RLX014",))
class GradientExploding:
    """Compares with the run's beginning, or with its recent past where that is higher."""

    def __init__(self) -> None:
        self._base = Baseline(FIRST)
        self._recent = Window(LAST)
        self._alarm = Alarm(RUNNING)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one norm; zeros (no signal yet) and overflows are not part of the baseline."""
        value = point.value
        if not math.isfinite(value) or value <= 0 or not self._base.push(value) or self._base.median is None:
            return None
        usual = self._base.median if not self._recent.full else max(self._base.median, self._recent.median)
        bad = value > max(FLOOR, TIMES * usual)
        if not bad:
            self._recent.push(value)
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY,
            value=f"{value:.3g}",
            ratio=f"{value / usual:.0f}",
            step=step_text(point.step),
            **sighting(point, self._alarm.since),
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose norms are far from bad, whatever the median of the last ones is."""
        norms, first = stretch["grad_norm"], self._base.median
        if first is None or not norms.finite or norms.low <= 0 or norms.high > max(FLOOR, TIMES * first):
            return False
        self._recent.extend(norms.values)
        self._alarm.rest(len(norms))
        return True

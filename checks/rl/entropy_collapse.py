"""The policy's entropy has collapsed.

## What it means
`entropy` is the mean uncertainty over the next token, in nats. It falls while a policy learns. At 0.05 nats one token
has
about 99 % of the probability: sampling is close to greedy.
## What it does to a run
All completions of a group come out alike, their rewards too, and the advantages become zero: exploration is over, and
reward stands still at whatever it has reached.
## What to do
Go back to a checkpoint with more entropy. Raise `epsilon_high` (clip-higher) or the temperature, lower the learning
rate,
or add an entropy bonus.
## How it is found
The median of the last 20 logged steps is below 0.05 nats and below a tenth of the run's beginning.
## References
https://arxiv.org/abs/2503.14476
https://arxiv.org/abs/2505.22617
https://huggingface.co/docs/trl/grpo_trainer
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

PROBLEM = Problem(id="RLX005", name="entropy-collapse", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`entropy` has fallen from {usual} to {value} nats by step {step}",
        "One token has nearly all the probability, so the completions of a group come out alike, their "
        "rewards do too, and nothing is left to learn from.",
        "Go back to a checkpoint with more entropy; raise `epsilon_high` or the temperature, or lower the "
        "learning rate.",
    ),
    zh=Words(
        "`entropy` 到第 {step} 步已从 {usual} 降至 {value} nats",
        "几乎全部概率集中在一个 token 上,同组的生成彼此雷同,奖励也雷同,没有什么可学了。",
        "回到熵更高的检查点;提高 `epsilon_high` 或 temperature,或降低学习率。",
    ),
)

#: binary entropy of 99 % to 1 % is 0.056 nats
LOW = 0.05

#: a tenth of the beginning: a task with short, certain answers has low entropy all along and is well
SHARE = 0.1

#: steps of the baseline and of the median
STEPS = 20


@rule(PROBLEM, needs=("entropy",))
class EntropyCollapse:
    """Compares the median of the last steps with that of the first."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value."""
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        usual = self._base.median
        if usual is None or not self._recent.full:
            return None
        median = self._recent.median
        if not self._alarm.see(median < min(LOW, SHARE * usual), point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, value=f"{median:.2g}", usual=f"{usual:.2g}",
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose entropy is nowhere low."""
        values, usual = stretch["entropy"], self._base.median
        if usual is None or not self._recent.full or not values.finite:
            return False
        if min(values.low, self._recent.low) < min(LOW, SHARE * usual):
            return False
        self._recent.extend(values.values)
        self._alarm.rest(len(values))
        return True

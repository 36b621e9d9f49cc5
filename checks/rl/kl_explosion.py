"""The policy runs away from the reference model.

## What it means
`kl` estimates how far the policy has moved from the reference, in nats a token. GRPO runs stay far below 1. The usual
estimator is never negative and has rare, huge outliers; a lasting rise is no outlier.
## What it does to a run
The policy has left the region in which the reference says anything: text degenerates, and rewards that still rise are
suspect.
## What to do
Go back to a checkpoint from before the rise. Lower the learning rate, raise `beta`, and check the reward for
loopholes.
## How it is found
Four of five logged steps running above 1 nat a token and above ten times the median of the last 100, or above 10 nats.
## References
http://joschu.net/blog/kl-approx.html
https://arxiv.org/abs/2402.03300
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

import math
from collections import deque
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Window

PROBLEM = Problem(id="RLX004", name="kl-explosion", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`kl` is {value} at step {step}, up from {usual}",
        "The policy has moved far from the reference model within a few steps, and it stays there. Text "
        "degenerates from here on, and a reward that still rises is suspect.",
        "Go back to a checkpoint from before the rise; lower the learning rate, or raise `beta`.",
    ),
    zh=Words(
        "`kl` 在第 {step} 步为 {value},此前为 {usual}",
        "策略在短短几步内远离了参考模型,并且没有回来。生成的文本会从此退化,仍在上升的奖励也值得怀疑。",
        "回到上升之前的检查点;降低学习率,或提高 `beta`。",
    ),
)

#: one nat a token: on average the policy gives each token e times the reference's probability
HIGH, TIMES = 1.0, 10.0

#: no baseline excuses this: each token 20,000 times as likely as under the reference
BEYOND = 10.0

#: steps looked back on for what is usual, and how many of the last five must be high: the estimator's
#: outliers are single
LOOK_BACK, RUNNING, OF = 100, 4, 5


@rule(PROBLEM, needs=("kl",))
class KlExplosion:
    """Keeps the median of the steps that were not high."""

    def __init__(self) -> None:
        self._usual = Window(LOOK_BACK)
        self._high: deque[bool] = deque()
        self._count = 0
        self._on = False
        self._began: Optional[int] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value; NaN is not told here (older TRL prints it when all completions are masked)."""
        value = point.value
        if math.isnan(value):
            return None
        usual = self._usual.median if self._usual else 0.0
        high = value > BEYOND or (len(self._usual) >= OF and value > max(HIGH, TIMES * usual))
        if not high:
            self._usual.push(value)
            if not self._count:
                self._on = False
                return None
        elif not self._count:
            self._began = point.step
        self._count += high - (self._high.popleft() if len(self._high) == OF else False)
        self._high.append(high)
        if self._on or self._count < RUNNING:
            return None
        self._on = True
        text = f"{usual:.3g}"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, value=f"{value:.3g}", usual=text, step=step_text(point.step),
            **sighting(point, self._began),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose values are all below what can be high."""
        values = stretch["kl"]
        if self._count or not values.finite or values.high > HIGH:
            return False
        self._usual.extend(values.values)
        self._on = False
        return True

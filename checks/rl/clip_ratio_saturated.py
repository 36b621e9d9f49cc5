"""Most tokens are clipped out of the objective.

## What it means
The policy that is trained differs so much from the one that sampled that the ratio of most tokens lies outside the
clip
range. Clipped tokens have no gradient. Healthy runs clip a few per cent.
## What it does to a run
The update rests on the few tokens that are left; steps are too large, or the samples too old.
## What to do
Lower the learning rate, use fewer updates per batch of samples (`num_iterations`, `steps_per_generation`,
`ppo_mini_batch_size`), and check that the log probabilities of rollout engine and trainer agree.
## How it is found
The median of `clip_ratio/region_mean` (veRL: `actor/pg_clipfrac`) over the last 10 logged steps is above 0.5.
## References
https://arxiv.org/abs/1707.06347
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
from doctor.core.stats import Alarm, Window

PROBLEM = Problem(id="RLX013", name="clip-ratio-saturated", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{share} of the tokens are clipped, up to step {step}",
        "Clipped tokens have no gradient, so the update rests on the rest. The policy moves too far between "
        "sampling and update, or the samples are old.",
        "Lower the learning rate, make fewer updates per batch of samples (`num_iterations`, "
        "`steps_per_generation`), and check that the log probabilities of rollout engine and trainer agree.",
    ),
    zh=Words(
        "截至第 {step} 步,{share} 的 token 被裁剪",
        "被裁剪的 token 没有梯度,更新只依赖剩下的部分。策略在采样与更新之间移动过大,或样本过旧。",
        "降低学习率,减少每批样本的更新次数(`num_iterations`、`steps_per_generation`),并检查 rollout 引擎与训练"
        "器的对数概率是否一致。",
    ),
)

#: more than half of the tokens without a gradient, as the median of that many logged steps
SHARE, STEPS = 0.5, 10


@rule(PROBLEM, needs=("clip_ratio/region_mean",), symptom_of=("RLX014", "NUM008"))
class ClipRatioSaturated:
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
        if not self._recent.full or not self._alarm.see(median > SHARE, point.step):
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
        shares = stretch["clip_ratio/region_mean"]
        if not self._recent.full or not shares.finite or max(shares.high, self._recent.high) > SHARE:
            return False
        self._recent.extend(shares.values)
        self._alarm.rest(len(shares))
        return True

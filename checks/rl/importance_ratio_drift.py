"""The importance ratio between trainer and rollout engine has left 1.

## What it means
TRL corrects for the difference between vLLM's and the trainer's probabilities by an importance ratio, 1 where both
agree.
Its mean leaves 1 when they do not: stale weights, another precision, or very long completions with a ratio per
sequence.
## What it does to a run
Samples are weighted down (or dropped) for a reason that lies in the engine, not in the policy: less is learned from
each
batch, and what is learned is skewed.
## What to do
Check that vLLM gets the trained weights and runs in the same precision; for long completions use a ratio per token
(`vllm_importance_sampling_mode="token_truncate"`).
## How it is found
The median of `sampling/importance_sampling_ratio/mean` over the last 10 logged steps is below half or above twice
that of
the first 10, and below 0.5 or above 2.
## References
https://huggingface.co/docs/trl/grpo_trainer
https://github.com/huggingface/trl/blob/main/trl/trainer/grpo_trainer.py
https://fengyao.notion.site/off-policy-rl
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

PROBLEM = Problem(id="RLX015", name="importance-ratio-drift", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "the mean importance ratio went from {first} to {value} by step {step}",
        "It is 1 where vLLM and the trainer agree. Samples are now weighted for a difference between the "
        "engines, so less is learned from each batch, and what is learned is skewed.",
        "Check that vLLM gets the trained weights and runs in the trainer's precision; for long completions "
        "use a ratio per token instead of per sequence.",
    ),
    zh=Words(
        "重要性比率均值到第 {step} 步从 {first} 变为 {value}",
        "vLLM 与训练器一致时它为 1。现在样本因两个引擎之间的差异而被加权,每批学到的更少,且有偏差。",
        "检查 vLLM 是否拿到训练后的权重、精度是否与训练器相同;生成很长时,使用逐 token 的比率而非逐序列的比率。",
    ),
)

#: logged steps of the medians; factor by which the ratio must have moved, and from 1
STEPS, TIMES = 10, 2.0


@rule(PROBLEM, needs=("sampling/importance_sampling_ratio/mean",), symptom_of=("RLX014",))
class ImportanceRatioDrift:
    """Compares the median of the last steps with that of the first."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one mean."""
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        first = self._base.median
        if not first or first <= 0 or not self._recent.full:
            return None
        now = self._recent.median
        low = now < min(1 / TIMES, first / TIMES)
        if not self._alarm.see(low or now > max(TIMES, TIMES * first), point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, first=f"{first:.2g}", value=f"{now:.2g}", step=step_text(point.step),
            **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose means all lie where a median may lie."""
        means, first, recent = stretch["sampling/importance_sampling_ratio/mean"], self._base.median, self._recent
        if not first or first <= 0 or not recent.full or not means.finite:
            return False
        low, high = min(means.low, recent.low), max(means.high, recent.high)
        if low < min(1 / TIMES, first / TIMES) or high > max(TIMES, TIMES * first):
            return False
        recent.extend(means.values)
        self._alarm.rest(len(means))
        return True

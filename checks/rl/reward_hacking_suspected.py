"""The reward rises while the policy runs away: it may be exploiting the reward.

## What it means
When reward rises and at the same time KL or completion length grow out of proportion, the policy may have found a way
to
be rewarded without doing the task. Longer reasoning can also be what was wanted: this is a suspicion, not a verdict.
## What it does to a run
The reward curve looks fine while the model gets worse at what the reward stands for.
## What to do
Read completions with the highest rewards from before and after. Evaluate on a held-out metric that the reward does
not see.
## How it is found
The reward's median over 50 logged steps lies more than 3 standard deviations (robust) above its beginning, and over
the
same steps `kl` is ten times its beginning and above 1 nat a token, or completions are four times as long.
## References
https://arxiv.org/abs/2210.10760
https://arxiv.org/abs/2209.13085
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm, Baseline, Window

PROBLEM = Problem(id="RLX016", name="reward-hacking-suspected", severity=WARNING, since="0.1")

_REMEDY = (
    "Read the completions with the highest rewards from before step {step} and from now, and evaluate on "
    "something that the reward does not see."
)
_REMEDY_ZH = "对比第 {step} 步之前和现在奖励最高的生成,并用奖励看不到的指标评测。"
KL = Message(
    en=Words(
        "`reward` rose to {reward} while `kl` grew {times} times, to {value}, by step {step}",
        "The policy is far from the reference model and still gains reward. That is how an exploited reward "
        "looks; only the text can tell.",
        _REMEDY + " Raise `beta` or go back when it is exploitation.",
    ),
    zh=Words(
        "到第 {step} 步 `reward` 升至 {reward},同时 `kl` 增至 {times} 倍,达 {value}",
        "策略已远离参考模型却仍在得分。奖励被钻空子时正是这种样子;只有看文本才能判断。",
        _REMEDY_ZH + "若确实如此,提高 `beta` 或回退。",
    ),
)
LENGTH = Message(
    en=Words(
        "`reward` rose to {reward} while completions grew {times} times, to {value} tokens, by step {step}",
        "Longer reasoning may be what was wanted. It is also how a reward that favours length is exploited; "
        "only the text can tell.",
        _REMEDY,
    ),
    zh=Words(
        "到第 {step} 步 `reward` 升至 {reward},同时生成长度增至 {times} 倍,达 {value} 个 token",
        "更长的推理可能正是所期望的;偏好长度的奖励被钻空子时也是这种样子。只有看文本才能判断。",
        _REMEDY_ZH,
    ),
)

#: logged steps of the medians, and of the baselines behind a warm-up of 5
STEPS, SKIP = 50, 5

#: medians of 50 steps move slowly: every fifth step is soon enough to look
EVERY = 5

#: what counts as risen and as run away
SIGMAS, KL_TIMES, KL_HIGH, LENGTH_TIMES = 3.0, 10.0, 1.0, 4.0


class _Track:
    """A metric's beginning and its recent median."""

    def __init__(self) -> None:
        self.base, self.recent = Baseline(STEPS // 2, SKIP), Window(STEPS)

    def push(self, value: float) -> None:
        if self.base.push(value):
            self.recent.push(value)

    def times(self) -> float:
        """How many times its beginning the metric is now; 0 while unknown."""
        first = self.base.median
        return self.recent.median / first if first and first > 0 and self.recent.full else 0.0

    def at_most(self, high: float) -> tuple[float, float]:
        """Bounds of `times` and of the recent median, when no value above `high` comes."""
        peak = max(high, self.recent.high) if self.recent else high
        first = self.base.median
        return (peak / first if first and first > 0 else 0.0), peak


@rule(PROBLEM, needs=("kl", "completions/mean_length", "reward"))
class RewardHackingSuspected:
    """Judges when a reward comes; the other two stand beside it."""

    def __init__(self) -> None:
        self._tracks = {name: _Track() for name in ("kl", "completions/mean_length", "reward")}
        self._rows = 0
        self._alarms = {message.en.headline: Alarm(1, calm=STEPS // EVERY) for message in (KL, LENGTH)}

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if math.isfinite(point.value):
            self._tracks[point.name].push(point.value)
        if point.name != "reward":
            return None
        self._rows += 1
        if self._rows % EVERY or not self._tracks["reward"].recent.full:
            return None
        kl, length = self._tracks["kl"], self._tracks["completions/mean_length"]
        far = kl.times() >= KL_TIMES and kl.recent.median >= KL_HIGH
        longer = length.times() >= LENGTH_TIMES
        risen = (far or longer) and self._risen()
        return self._judge(KL, kl, risen and far, point) or self._judge(LENGTH, length, risen and longer, point)

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where neither KL nor length can come to what is suspect."""
        told = {name: stretch[name] for name in self._tracks if stretch[name].values}
        if not all(each.finite and self._tracks[name].recent.full for name, each in told.items()):
            return False
        kl, length = (self._tracks[name].at_most(stretch[name].high) for name in ("kl", "completions/mean_length"))
        if (kl[0] >= KL_TIMES and kl[1] >= KL_HIGH) or length[0] >= LENGTH_TIMES:
            return False
        for name, each in told.items():
            self._tracks[name].recent.extend(each.values)
        before, self._rows = self._rows, self._rows + len(stretch["reward"])
        for alarm in self._alarms.values() if self._tracks["reward"].recent.full else ():
            alarm.rest(self._rows // EVERY - before // EVERY)
        return True

    def _risen(self) -> bool:
        reward = self._tracks["reward"]
        first, noise = reward.base.median or 0.0, max(reward.base.sigma, reward.recent.sigma())
        return reward.recent.median > first + SIGMAS * noise

    def _judge(self, message: Message, track: _Track, bad: bool, point: Point) -> Optional[Finding]:
        if not self._alarms[message.en.headline].see(bad, point.step):
            return None
        return found(
            PROBLEM, message, confidence=LIKELY, severity=WARNING if message is KL else INFO,
            reward=f"{self._tracks['reward'].recent.median:.3g}", times=f"{track.times():.0f}",
            value=f"{track.recent.median:.3g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

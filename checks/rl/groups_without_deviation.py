"""All completions of each group get the same reward.

## What it means
GRPO learns from differences within a group. `frac_reward_zero_std` is the share of groups without any; at 1 no group
has
one. Prompts that are always or never solved, greedy decoding, or a reward that does not look at the completion do
this.
## What it does to a run
All advantages are zero: loss 0, gradient 0. The run goes on and learns nothing.
## What to do
Sample with temperature 1, take prompts of middling difficulty (solved sometimes), use more generations per prompt, or
a
reward that grades; filter groups without deviation (dynamic sampling).
## How it is found
`frac_reward_zero_std` is 1 (without it: `reward_std` is 0) in 20 logged steps running, or in all steps of a shorter
run
whose gradients were all zero. veRL: largest and smallest advantage are 0 in 10 logged steps running.
## References
https://arxiv.org/abs/2402.03300
https://arxiv.org/abs/2503.14476
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="RLX010", name="groups-without-deviation", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "no group had different rewards in {count} logged steps running, since step {step}",
        "GRPO learns from the differences within a group; without any, every advantage is zero, and nothing "
        "is learned.",
        "Sample with temperature 1, take prompts that are solved sometimes, use more generations per prompt, "
        "or a reward that grades.",
    ),
    zh=Words(
        "自第 {step} 步起连续 {count} 个记录步没有任何一组出现不同的奖励",
        "GRPO 从组内差异中学习;没有差异,所有优势值为零,学不到东西。",
        "以 temperature 1 采样,选用有时能解出的 prompt,增加每个 prompt 的生成数,或采用分级的奖励。",
    ),
)

#: logged steps running: small batches of hard prompts have some of them in every run
RUNNING = 20

#: logged steps that a whole run must have to be judged at its end
WHOLE_RUN = 3

#: rounding leaves gradients of this size where all advantages are zero
NO_GRADIENT = 1e-8


@rule(PROBLEM, needs=("reward_std", "frac_reward_zero_std", "grad_norm"), symptom_of=("RLX006", "RLX008", "RLX019"))
class GroupsWithoutDeviation:
    """Prefers the share of groups; `reward_std` of newer TRL is that of the whole batch."""

    def __init__(self) -> None:
        self._alarm = Alarm(RUNNING, calm=5)
        self._has_share = self._moved = False
        self._rows = self._bad_rows = 0
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if point.name == "grad_norm":
            self._moved = self._moved or not point.value <= NO_GRADIENT
            return None
        if point.name == "frac_reward_zero_std":
            if not self._has_share:  # what `reward_std` of this first row said counts no more
                self._has_share, self._rows, self._bad_rows, self._alarm = True, 0, 0, Alarm(RUNNING, calm=5)
            bad = point.value >= 1
        elif self._has_share:
            return None
        else:
            bad = point.value == 0
        self._rows += 1
        self._bad_rows += bad
        self._last = point
        return self._found(point, RUNNING) if self._alarm.see(bad, point.step) else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all deviate."""
        norms, shares, deviations = stretch["grad_norm"], stretch["frac_reward_zero_std"], stretch["reward_std"]
        name = "frac_reward_zero_std" if self._has_share else "reward_std"
        if (shares.values and not self._has_share) or not (norms.finite and shares.finite and deviations.finite):
            return False
        if shares.high >= 1 or (not self._has_share and deviations.low <= 0):
            return False
        self._moved = self._moved or norms.high > NO_GRADIENT
        count = len(stretch[name])
        self._rows += count
        self._alarm.rest(count)
        self._last = stretch.last(name) if count else self._last
        return True

    def _found(self, point: Point, count: int) -> Finding:
        began = self._alarm.since
        return found(PROBLEM, MESSAGE, confidence=LIKELY, count=count, step=step_text(began), **sighting(point, began))

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._alarm.on or self._moved or self._last is None:
            return None
        return self._found(self._last, self._rows) if self._rows == self._bad_rows >= WHOLE_RUN else None


ADVANTAGES = Message(
    en=Words(
        "every advantage was 0 in {count} logged steps running, since step {step}",
        "The answers to one prompt all got the same reward, also where prompts differ from each other, so nothing but "
        "the KL term moves the weights. Mostly the answers of a group are alike (temperature 0, one seed for all, an "
        "engine that returns one answer n times), or each answer stands in a group of its own.",
        "Look at some groups: answers and their rewards side by side. Sample with temperature 1 and without a fixed "
        "seed, see that `rollout.n` is above 1 and that all answers to a prompt carry the same `uid`, and take "
        "prompts that are solved sometimes.",
    ),
    zh=Words(
        "自第 {step} 步起连续 {count} 个记录步所有优势值都为 0",
        "同一 prompt 的回答奖励都相同,即使不同 prompt 之间有差异,因此只有 KL 项在改变权重。多半是组内回答相同"
        "(temperature 为 0、共用一个种子、引擎把一个回答返回 n 次),或每个回答自成一组。",
        "查看几组:把回答与奖励并排比较。以 temperature 1 采样且不固定种子,确认 `rollout.n` 大于 1、同一 prompt 的所有"
        "回答带有相同的 `uid`,并选用有时能解出的 prompt。",
    ),
)

#: logged steps running of a whole batch without any advantage
NONE_RUNNING = 10
_HIGHEST, _LOWEST = "critic/advantages/max", "critic/advantages/min"


@rule(PROBLEM, needs=(_HIGHEST, _LOWEST), symptom_of=("RLX006", "RLX008", "RLX019"))
class AdvantagesAllZero:
    """veRL tells the largest and the smallest advantage of a batch; with a critic these are never both 0."""

    def __init__(self) -> None:
        self._alarm = Alarm(NONE_RUNNING, calm=5)
        self._highest: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a step when its smallest advantage follows its largest."""
        if point.name == _HIGHEST:
            self._highest = point
            return None
        highest, self._highest = self._highest, None
        if highest is None or highest.step != point.step:
            return None
        if not self._alarm.see(highest.value == 0 == point.value, point.step):
            return None
        began = self._alarm.since
        return found(
            PROBLEM, ADVANTAGES, confidence=LIKELY, count=NONE_RUNNING, step=step_text(began), **sighting(point, began)
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all have some advantage."""
        highest, lowest = stretch[_HIGHEST], stretch[_LOWEST]
        if self._highest is not None or not (highest.finite and lowest.finite) or len(highest) != len(lowest):
            return False
        if len(highest) and (highest.low <= 0 or lowest.high >= 0):
            return False
        self._alarm.rest(len(lowest))
        return True

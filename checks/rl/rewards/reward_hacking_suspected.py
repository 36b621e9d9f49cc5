"""Judges reward-hacking-suspected (RLX016), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Optional

from doctor.base.stats import Alarm, Baseline, Window, total
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Course, Courses
from doctor.catalogue.finding import LIKELY, Finding, Message, Where, found
from doctor.catalogue.held_out import HELD_OUT, is_score
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.shared.tool_calls import CALLS, TURNS, ToolCalls
from doctor.catalogue.words import words_of
from doctor.checks.rl.rewards._length import LengthWithReward, RewardFollowsLength

TOML = words_of(__name__)
PROBLEM = TOML.problem
RULES = (LengthWithReward, RewardFollowsLength)
KL = TOML["kl"]
STANDS, FALLS, GIVEN_UP, ROUNDS = TOML["stands"], TOML["falls"], TOML["given_up"], TOML["rounds"]


#: logged steps of the medians, and of the baselines behind a warm-up of 5
STEPS, SKIP = 50, 5

#: medians of 50 steps move slowly: every fifth step is soon enough to look
EVERY = 5

#: what counts as risen and as run away
SIGMAS, KL_TIMES, KL_HIGH = 3.0, 10.0, 1.0


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


@rule(PROBLEM, needs=("kl", "reward"))
class RewardHackingSuspected:
    """Judges when a reward comes; the other stands beside it."""

    def __init__(self) -> None:
        self._tracks = {name: _Track() for name in ("kl", "reward")}
        self._rows = 0
        self._alarm = Alarm(1, calm=STEPS // EVERY)

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if math.isfinite(point.value):
            self._tracks[point.name].push(point.value)
        if point.name != "reward":
            return None
        self._rows += 1
        if self._rows % EVERY or not self._tracks["reward"].recent.full:
            return None
        kl = self._tracks["kl"]
        far = kl.times() >= KL_TIMES and kl.recent.median >= KL_HIGH
        if not self._alarm.see(far and self._risen(), point.step):
            return None
        return found(
            PROBLEM, KL, confidence=LIKELY, reward=f"{self._tracks['reward'].recent.median:.3g}",
            times=f"{kl.times():.0f}", value=f"{kl.recent.median:.3g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where KL cannot come to what is suspect."""
        told = {name: stretch[name] for name in self._tracks if stretch[name].values}
        if not all(each.finite and self._tracks[name].recent.full for name, each in told.items()):
            return False
        times, peak = self._tracks["kl"].at_most(stretch["kl"].high)
        if times >= KL_TIMES and peak >= KL_HIGH:
            return False
        for name, each in told.items():
            self._tracks[name].recent.extend(each.values)
        before, self._rows = self._rows, self._rows + len(stretch["reward"])
        if self._tracks["reward"].recent.full:
            self._alarm.rest(self._rows // EVERY - before // EVERY)
        return True

    def _risen(self) -> bool:
        reward = self._tracks["reward"]
        first, noise = reward.base.median or 0.0, max(reward.base.sigma, reward.recent.sigma())
        return reward.recent.median > first + SIGMAS * noise


#: evaluations needed, and kept of one score; scores watched
LEAST_EVALUATIONS, MOST_EVALUATIONS, MOST_SCORES = 5, 64, 8

#: a score that follows the reward gains in proportion; below this share of it, in absolute terms and relative to where
#: both began, it stands. A harder benchmark gains less, but seldom a fifth of both
FOLLOWS = 0.2

#: mean of |second difference| of independent noise of deviation 1: sqrt(6) * sqrt(2 / pi)
_OF_SECOND = math.sqrt(12 / math.pi)


_BEGINNINGS = tuple(each.rstrip("*") for each in HELD_OUT)


class _Score:
    """A held-out score, evaluation by evaluation, with the reward's mean since the one before."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.rewards: list[float] = []
        self.steps: list[Optional[int]] = []

    def push(self, value: float, reward: float, step: Optional[int]) -> None:
        self.values.append(value)
        self.rewards.append(reward)
        self.steps.append(step)
        if len(self.values) > MOST_EVALUATIONS:
            del self.values[1:-1:2], self.rewards[1:-1:2], self.steps[1:-1:2]

    def noise(self) -> float:
        """Standard deviation of one evaluation, from second differences; a bend in the course only raises it."""
        score = self.values
        seconds = [abs(a - 2 * b + c) for a, b, c in zip(score, score[1:], score[2:])]  # noqa: B905 - Python 3.9
        return total(seconds) / len(seconds) / _OF_SECOND

    def judge(self) -> Optional[tuple[Message, float, float, float, float]]:
        """Message, score before and now, reward before and now; None where the score follows the reward."""
        if len(self.values) < LEAST_EVALUATIONS:
            return None
        few = max(2, len(self.values) // 4)
        before, now = _mean(self.values[:few]), _mean(self.values[-few:])
        reward, noise = _mean(self.rewards[-few:]), self.noise()
        gain = reward - _mean(self.rewards[:few])
        pairs = [(a + b) / 2 for a, b in zip(self.values, self.values[1:])]  # noqa: B905 - Python 3.9
        best = max(range(len(pairs)), key=pairs.__getitem__)
        since = reward - self.rewards[best + 1]
        fall = pairs[best] - pairs[-1]
        if fall > max(4 * noise, 0.1 * abs(pairs[best])) and since > max(0.2 * fall, 0.05 * abs(reward)):
            return FALLS, pairs[best], pairs[-1], self.rewards[best + 1], reward
        # both in their own units and relative to where they began, for a score may be counted in per cent
        most = now - before + noise * math.sqrt(2 / few)
        first = _mean(self.rewards[:few])
        relative = most * abs(first) < FOLLOWS * gain * abs(before) if first and before else True
        if gain > max(4 * noise, 0.2 * abs(first)) and most < FOLLOWS * gain and relative:
            return STANDS, before, now, first, reward
        return None


def _mean(values: list[float]) -> float:
    return total(values) / len(values)


@rule(PROBLEM, needs=("reward", *HELD_OUT))
class RewardAgainstHeldOut:
    """Judges at each evaluation: does what the reward stands for gain where the reward gains?"""

    def __init__(self) -> None:
        self._scores: dict[str, _Score] = {}
        self._sum: dict[str, float] = {}
        self._count: dict[str, int] = {}
        self._rewards, self._total = 0, 0.0
        self._alarm = Alarm(1, calm=LEAST_EVALUATIONS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a reward or an evaluation in."""
        name, value = point.name, point.value
        if not math.isfinite(value):
            return None
        if name == "reward":
            self._rewards += 1
            self._total += value
            return None
        if not is_score(name) or (name not in self._scores and len(self._scores) >= MOST_SCORES):
            return None
        count, total = self._count.get(name, 0), self._sum.get(name, 0.0)
        self._count[name], self._sum[name] = self._rewards, self._total
        if self._rewards == count:
            return None
        score = self._scores.setdefault(name, _Score())
        score.push(value, (self._total - total) / (self._rewards - count), point.step)
        judged = score.judge()
        if not self._alarm.see(judged is not None, point.step) or judged is None:
            return None
        message, before, now, first, reward = judged
        return found(
            PROBLEM, message, confidence=LIKELY, score=name, before=f"{before:.3g}", now=f"{now:.3g}",
            first=f"{first:.3g}", reward=f"{reward:.3g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rewards in where nothing was evaluated."""
        rewards = stretch["reward"]
        if any(is_score(name) for name in stretch.columns if name.startswith(_BEGINNINGS)):
            return False
        if not rewards.finite:
            return False
        for value in rewards.values:
            self._total += value
        self._rewards += len(rewards)
        return True


#: logged steps of a median, and the share of the first calls that is left where tools were given up. NeMo-Gym saw 94 %
#: of the answers without a call after 8 steps, and rewards that rose:
#: https://github.com/NVIDIA-NeMo/Gym/pull/1304, https://github.com/huggingface/trl/pull/6430
CALL_STEPS, LEFT = 3, 0.2


@rule(PROBLEM, needs=(CALLS, "reward"))
class ToolsGivenUp:
    """Answers stop calling tools, and lose no reward by it: what grades them does not ask for what tools find out."""

    #: the metric that tells of calls, and the words for them
    of, message = CALLS, GIVEN_UP

    def __init__(self) -> None:
        self._tools = ToolCalls(CALL_STEPS, LEFT, self.of)
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the calls of one step, by the rewards so far."""
        now = None if self.over else self._tools.feed(point)
        if now is None or now.reward < now.reward_before:
            return None
        self.over = True
        step = step_text(point.step)
        return found(PROBLEM, self.message, confidence=LIKELY, step=step, **now.words(), **sighting(point))

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of no calls or of enough."""
        return self._tools.calm(stretch)


@rule(PROBLEM, needs=(TURNS, "reward"))
class RoundsGivenUp(ToolsGivenUp):
    """The same, where the turns of a conversation tell of its calls."""

    of, message = TURNS, ROUNDS


#: what an excerpt leaves of a part that is given up, and how much another one must have grown
GIVEN_UP_SHARE, GROWN = 0.6, 1.3


def of_quoted(courses: Courses) -> Optional[Finding]:
    """A reward that ends at its peak while one of its parts ends at its lowest: the others are what is learnt."""
    reward = courses.rose("reward", GROWN, 0.0)
    parts = {name.removesuffix("/mean"): each for name, each in courses.of.items() if _is_part(name)}
    if reward is None or not (lost := _least(parts, courses)):
        return None
    grown = [name for name, each in parts.items() if each.last == each.high >= GROWN * max(each.first, 0.0) > 0]
    if not grown:
        return None
    part, length = parts[lost], courses.of.get("completions/mean_length")
    shorter = length is not None and length.last == length.low <= GIVEN_UP_SHARE * length.first
    return found(
        PROBLEM, TOML["parts"], confidence=LIKELY, where=Where(file=reward.source, step=reward.last_step), lost=lost,
        before=f"{part.first:.3g}", now=f"{part.last:.3g}", grown=", ".join(f"`{each}`" for each in grown[:3]),
        first=f"{reward.first:.3g}", reward=f"{reward.last:.3g}",
        length=f"{length.last:.0f}" if shorter and length else "",
    )  # fmt: skip


def _is_part(name: str) -> bool:
    """Whether a metric is one function's mean reward, and none of preference training."""
    return name.startswith("rewards/") and not name.endswith(
        ("/std", "/chosen", "/rejected", "/margins", "/accuracies")
    )


def _least(parts: Mapping[str, Course], courses: Courses) -> str:
    """The part that ends at its lowest, far below its beginning; "" where there is none."""
    fallen = [name for name, each in parts.items() if each.first == each.high > 0 and each.last == each.low]
    fallen = [name for name in fallen if parts[name].last <= GIVEN_UP_SHARE * parts[name].first]
    return min(fallen, key=lambda name: parts[name].last / parts[name].first, default="") if courses.excerpt else ""

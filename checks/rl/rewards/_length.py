"""Rules of RLX016 about rewards that pay for length."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Optional

from doctor.base.history import History, Looks
from doctor.base.stats import Alarm, total
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import INFO
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of("doctor.checks.rl.rewards.reward_hacking_suspected")
PROBLEM = TOML.problem
LENGTH, FOLLOWS = TOML["length"], TOML["follows"]
_LENGTH = "completions/mean_length"

#: growth from which length is worth a word: longer reasoning may double the answers of a run that is well
GROWTH = 2.5

#: steps of a run that can be judged; correlation of length and reward over the blocks of its course
LEAST_STEPS, TOGETHER = 60, 0.8

#: standard errors of the reward's rise: far beyond chance over all looks
RISES = 6.0


@rule(PROBLEM, needs=(_LENGTH, "reward"))
class LengthWithReward:
    """Compares the courses of length and reward, which a row tells in either order."""

    def __init__(self) -> None:
        self._length, self._reward = History(), History()
        self._looks = Looks(LEAST_STEPS)
        self._alarm = Alarm(1)
        self._now: Optional[Point] = None
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one of both in, or judge when the other of the same step follows."""
        before, self._now = self._now, point
        if before is None or before.name == point.name or before.step != point.step:
            return None
        self._now = None
        if not (math.isfinite(before.value) and math.isfinite(point.value)):
            return None
        length, reward = (before, point) if point.name == "reward" else (point, before)
        self._length.push(length.value, point.step)
        self._reward.push(reward.value, point.step)
        self._last = point
        return self._judge(point) if self._looks.due() else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where no look finds that length and reward rise together."""
        lengths, rewards = stretch[_LENGTH], stretch["reward"]
        told = [name for name in (_LENGTH, "reward") if stretch[name].values]
        if len(told) == 1 and (self._now is None or self._now.name == told[0]):
            self._now = stretch.last(told[0])
            return True  # no pair is among them
        if not (stretch.alike and lengths.finite and rewards.finite and lengths.values and rewards.values):
            return False
        if self._now is not None:
            return False
        length, reward, looks = self._length.copy(), self._reward.copy(), self._looks.copy()
        at = alarm = 0
        while at < len(rewards):
            end = min(len(rewards), at + looks.left)
            length.extend(lengths.values[at:end], lengths.steps[at:end])
            reward.extend(rewards.values[at:end], rewards.steps[at:end])
            if looks.due(end - at):
                if _together(length, reward):
                    return False
                alarm += 1
            at = end
        self._length, self._reward, self._looks = length, reward, looks
        self._alarm.rest(alarm)
        order = [each for each in stretch.rows[0].names if each in (_LENGTH, "reward")]
        self._last = stretch.last(order[-1])
        return True

    def _judge(self, point: Point) -> Optional[Finding]:
        lengths = self._length
        if not self._alarm.see(_together(lengths, self._reward), point.step):
            return None
        before, now = _ends(lengths)
        return found(
            PROBLEM, LENGTH, confidence=LIKELY, severity=INFO, reward=f"{_ends(self._reward)[1]:.3g}",
            times=f"{now / before:.1f}", value=f"{now:.3g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        if self._last is None or self._alarm.on or self._length.count < LEAST_STEPS:
            return None
        return self._judge(self._last)


def _ends(course: History) -> tuple[float, float]:
    """Levels of the first and the last tenth of a course."""
    edge = max(2, len(course.means) // 10)
    return course.level(0, edge), course.level(-edge)


def _together(length: History, reward: History) -> bool:
    """Whether the length has grown by a multiple, and the reward rose with it."""
    before, now = _ends(length)
    line = reward.slope()
    return (
        now >= GROWTH * before > 0 and line is not None and line.sigmas > RISES
        and _correlation(length.means, reward.means) >= TOGETHER
    )  # fmt: skip


def _correlation(one: Sequence[float], two: Sequence[float]) -> float:
    """Pearson's correlation; 0 where one of them does not vary."""
    first, second = total(one) / len(one), total(two) / len(two)
    pairs = [(a - first, b - second) for a, b in zip(one, two)]  # noqa: B905 - Python 3.9
    spread = total([a * a for a, _ in pairs]) * total([b * b for _, b in pairs])
    return total([a * b for a, b in pairs]) / math.sqrt(spread) if spread > 0 else 0.0


#: changes from one logged step to the next that are judged first and at most, share of them in which both must differ
#: from 0, and correlation of their ranks, in which neither a trend nor a single jump of both counts. In runs whose
#: rewards pay for right answers it is below 0.3, where they pay for length above 0.85 (tests/rules/runs)
CHANGES, MOST_CHANGES, CHANGED, FOLLOW = 24, 240, 0.5, 0.9

#: share of the mean length by which lengths must differ: of a single token more or less nothing follows
SPREAD = 0.1


class _Changes:
    """The last changes of two series from step to step, and between which lengths they were."""

    __slots__ = ("_first", "_second", "greatest", "least")

    def __init__(self) -> None:
        self._first: deque[float] = deque(maxlen=MOST_CHANGES)
        self._second: deque[float] = deque(maxlen=MOST_CHANGES)
        self.least, self.greatest = math.inf, -math.inf

    def __len__(self) -> int:
        return len(self._first)

    def copy(self) -> _Changes:
        """The same, on its own from here on."""
        twin = _Changes()
        twin._first.extend(self._first)
        twin._second.extend(self._second)
        twin.least, twin.greatest = self.least, self.greatest
        return twin

    def take(self, before: tuple[float, float], now: tuple[float, float]) -> None:
        """Count the change between two steps, each a length and a reward."""
        self._first.append(now[0] - before[0])
        self._second.append(now[1] - before[1])
        self.least, self.greatest = min(self.least, now[0]), max(self.greatest, now[0])

    def correlation(self) -> float:
        """Spearman's, of the changes; 0 where one of the series hardly changes, or stands in too many steps."""
        moved = sum(1 for one, two in zip(self._first, self._second) if one and two)  # noqa: B905 - Python 3.9
        if self.greatest * (1 - SPREAD) < self.least or moved < CHANGED * len(self):
            return 0.0
        return _correlation(_ranks(self._first), _ranks(self._second))


def _ranks(values: Sequence[float]) -> list[float]:
    """The place of each value in order; equal ones share the middle of theirs."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [(places[each][0] + places[each][-1]) / 2 for each in values]


@rule(PROBLEM, needs=(_LENGTH, "reward"))
class RewardFollowsLength:
    """Compares how length and reward change from one step to the next, so that common trends count for nothing."""

    def __init__(self) -> None:
        self._changes, self._looks = _Changes(), Looks(CHANGES)
        self._half: Optional[Point] = None
        self._before: Optional[tuple[float, float]] = None
        self._began: Optional[int] = None
        self._last: Optional[Point] = None
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take one of both in, or judge when the other of the same step follows."""
        half, self._half = self._half, point
        if self.over or half is None or half.name == point.name or half.step != point.step:
            return None
        self._half = None
        if not (math.isfinite(half.value) and math.isfinite(point.value)):
            self._before = None
            return None
        now = (half.value, point.value) if point.name == "reward" else (point.value, half.value)
        before, self._before, self._last = self._before, now, point
        if before is None:
            self._began = point.step if self._began is None else self._began
            return None
        self._changes.take(before, now)
        return self._found(point) if self._looks.due() else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where no look finds that the one follows the other."""
        lengths, rewards = stretch[_LENGTH], stretch["reward"]
        told = [name for name in (_LENGTH, "reward") if stretch[name].values]
        if len(told) == 1 and (self._half is None or self._half.name == told[0]):
            self._half = stretch.last(told[0])
            return True  # no pair is among them
        if self._half is not None or not (stretch.alike and len(told) > 1 and lengths.finite and rewards.finite):
            return False
        changes, looks, before = self._changes.copy(), self._looks.copy(), self._before
        for now in zip(lengths.values, rewards.values):  # noqa: B905 - Python 3.9
            if before is not None:
                changes.take(before, now)
                if looks.due() and changes.correlation() >= FOLLOW:
                    return False
            before = now
        if self._began is None:
            self._began = rewards.steps[0]
        self._changes, self._looks, self._before = changes, looks, before
        order = [each for each in stretch.rows[0].names if each in (_LENGTH, "reward")]
        self._last = stretch.last(order[-1])
        return True

    def _found(self, point: Point) -> Optional[Finding]:
        changes, share = self._changes, self._changes.correlation()
        if share < FOLLOW:
            return None
        self.over = True
        return found(
            PROBLEM, FOLLOWS, confidence=LIKELY, share=f"{share:.2f}", least=f"{changes.least:.3g}",
            greatest=f"{changes.greatest:.3g}", count=len(changes), **sighting(point, self._began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        if self.over or self._last is None or len(self._changes) < CHANGES:
            return None
        return self._found(self._last)

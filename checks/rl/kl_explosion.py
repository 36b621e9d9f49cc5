"""Judges kl-explosion (RLX004), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections import deque
from typing import Optional

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Message, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
FAR, FAST, AT_FIRST = TOML["far"], TOML["fast"], TOML["at_first"]


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


#: logged steps of the median and of the beginning, behind those of a warm-up; steps running within the beginning that
#: must all be high: a policy that begins at its reference cannot be there after a few updates of a size that GRPO bears
STEPS, FIRST, SKIP, EARLY = 20, 20, 0, 5


@rule(PROBLEM, needs=("kl",))
class KlFar:
    """A slow drift, which never stands out from its recent past: the level, and the level where the run began."""

    def __init__(self) -> None:
        self._first, self._recent = Baseline(FIRST, SKIP), Window(STEPS)
        self._alarm, self._early = Alarm(1, calm=STEPS), Window(EARLY)
        self._start: Optional[float] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value."""
        if not math.isfinite(point.value):
            return None
        if self._start is None:
            self._start = point.value
            return None
        began_at_reference = self._start < HIGH / TIMES
        if not self._first.push(point.value):
            self._early.push(point.value)
            leapt = began_at_reference and self._early.full and self._early.low > HIGH
            return self._found(point, FAST, self._early.median) if self._alarm.see(leapt, point.step) else None
        self._recent.push(point.value)
        first = self._first.median
        if first is None or not self._recent.full:
            return None
        now = self._recent.median
        far = now > HIGH and (now >= TIMES * first or began_at_reference)
        return self._found(point, FAR, now) if self._alarm.see(far, point.step) else None

    def _found(self, point: Point, message: Message, now: float) -> Finding:
        return found(
            PROBLEM, message, confidence=LIKELY, value=f"{now:.3g}", usual=f"{self._start:.2g}", count=EARLY,
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose values are all below what can be high."""
        values = stretch["kl"]
        if not (self._recent.full and values.finite) or max(values.high, self._recent.high) > HIGH:
            return False
        self._recent.extend(values.values)
        self._alarm.rest(len(values))
        return True


#: nats within so few steps: reports of GRPO have a hundredth of it then
#: the share of an epoch that is one update, or the rounding of a printed one
AT_ONCE, FEW_STEPS, EARLY_ROWS, OF_AN_EPOCH = 0.3, 10, 2, 0.02


def of_quoted(courses: Courses) -> Optional[Finding]:
    """The same of a few lines that a person quotes."""
    course = courses.rose("kl", TIMES, AT_ONCE)
    if course is None or course.first >= HIGH / TIMES:
        return None
    early = course.last_step is not None and course.last_step <= FEW_STEPS and _from_the_beginning(courses)
    if not early and course.last <= HIGH:
        return None
    message = AT_FIRST if _with_the_first_update(courses) else FAST if early else FAR
    return found(
        PROBLEM, message, confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
        value=f"{course.last:.3g}", usual=f"{course.first:.2g}", count=course.count, step=step_text(course.last_step),
    )  # fmt: skip


#: rows of which the first is the reference itself; a rate above this may move a policy so far in one update
FIRST_ROWS, LARGE_RATE = 4, 1e-4


def _with_the_first_update(courses: Courses) -> bool:
    """Whether the KL leaps by nats from one row to the next while the reward falls to nothing at once, and stays there.

    Adam moves each weight by about the learning rate in one update, which changes log probabilities by thousandths.
    """
    kl, reward, rate = courses.of["kl"], courses.of.get("reward"), courses.number("learning_rate", "lr")
    if reward is None or kl.count > FIRST_ROWS or kl.leap < HIGH or (rate is not None and rate > LARGE_RATE):
        return False
    return reward.first > 0.0 == reward.last == reward.low and reward.mean * reward.count <= reward.first


def _from_the_beginning(courses: Courses) -> bool:
    """Whether the rows are the first updates of a run, by their epochs.

    Rows that tell no step are counted from 1 wherever they are from, and each may stand for many updates.
    """
    epoch = courses.of.get("epoch")
    if epoch is None or epoch.count < EARLY_ROWS:
        return epoch is None
    gap = (epoch.last - epoch.first) / (epoch.count - 1)
    return gap <= OF_AN_EPOCH and epoch.first <= 1.5 * gap + OF_AN_EPOCH

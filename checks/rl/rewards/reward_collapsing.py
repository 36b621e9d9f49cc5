"""Judges reward-collapsing (RLX009), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.patterns import later
from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import INFO
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, SHOWN = TOML["main"], TOML["shown"]


#: steps of a median, and steps that the loss must last
STEPS = 20

#: share of the gain, and of a positive level, that must be lost
OF_GAIN, OF_LEVEL = 0.5, 0.75

#: standard deviations of single steps between the best median and now
SIGMAS = 6.0

#: steps at the end of a run that must all have lost a level: behind them nothing comes that could last
AT_THE_END = 10


@rule(PROBLEM, needs=("reward",), symptom_of=("NUM006", "NUM008", "RLX004", "RLX014"))
class RewardCollapsing:
    """Compares the median of the last steps with the best one so far."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._last = Window(AT_THE_END)
        self._point: Optional[Point] = None
        self._alarm = Alarm(STEPS, calm=STEPS)
        self._best: Optional[float] = None
        self._noise = self._scatter = 0.0
        self._peak: Optional[int] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one reward."""
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._point = point
        self._last.push(point.value)
        self._recent.push(point.value)
        if self._base.median is None or not self._recent.full:
            return None
        median = self._recent.median
        if self._best is None or median > self._best:
            self._best, self._peak = median, point.step
            self._scatter = self._recent.sigma()  # of the beginning it is not: a fast rise there is no noise
            self._noise = max(self._base.sigma, self._scatter)
        if not self._alarm.see(self._lost(median), point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, best=f"{self._best:.3g}", value=f"{median:.3g}", count=STEPS,
            step=step_text(point.step), peak=step_text(self._peak), **sighting(point, self._alarm.since),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose medians stay between the best one and the edge of the scatter."""
        rewards, best = stretch["reward"], self._best
        if best is None or not rewards.finite:
            return False
        low, values = min(rewards.low, self._recent.low), rewards.values
        if best - low <= SIGMAS * self._noise and self._recent.most_above(best, values) < STEPS // 2:
            self._recent.extend(values)  # no median can lie outside: what takes most of the time is spared
            self._taken(stretch)
            return True
        recent = self._recent.copy()
        medians = recent.medians(values)
        if max(medians) > best or best - min(medians) > SIGMAS * self._noise:
            return False
        self._recent = recent
        self._taken(stretch)
        return True

    def _taken(self, stretch: Stretch) -> None:
        values = stretch["reward"].values
        self._last.extend(values)
        self._point = stretch.last("reward")
        self._alarm.rest(len(values))

    def finish(self) -> Optional[Finding]:
        """Judge the end of a run, where all of the last steps have lost the best level."""
        first, point = self._base.median, self._point
        if self._alarm.on or first is None or point is None or not self._last.full:
            return None
        best, noise = max((first, self._base.sigma), (self._best or -math.inf, self._scatter))
        if best <= 0 or self._last.high > (1 - OF_LEVEL) * best or best - self._last.high <= SIGMAS * noise:
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, best=f"{best:.3g}", value=f"{self._last.median:.3g}", count=AT_THE_END,
            step=step_text(point.step), peak=step_text(self._peak), **sighting(point),
        )  # fmt: skip

    def _lost(self, median: float) -> bool:
        best, first = self._best, self._base.median
        if best is None or first is None or best - median <= SIGMAS * self._noise:
            return False
        gain = best - first
        return best - median >= OF_GAIN * gain > SIGMAS * self._noise or (best > 0 and median <= (1 - OF_LEVEL) * best)


#: standard errors between the first and the last third of a run's rewards, and rewards: of so few, by chance one run in
#: a thousand falls so far, of more hardly any. A note, for new data may be harder: what to look at, not what is wrong
FALLS, REWARDS = 5.0, 10
#: of a course without scatter any number comes out
MOST_ERRORS = 100


def of_courses(courses: Courses) -> Optional[Finding]:
    """A reward that is lower at the end of a run than at its beginning, by more than its noise; the loss is finite."""
    course, loss = courses.of.get("reward"), courses.of.get("loss")
    if course is None or courses.excerpt or course.count < REWARDS or course.rise > -FALLS:
        return None
    if course.nan_from is not None or (loss is not None and loss.nan_from is not None):
        return None
    return found(
        PROBLEM, TOML["falls"], confidence=LIKELY, severity=INFO,
        where=Where(file=course.source, step=course.last_step),
        early=f"{course.early:.3g}", late=f"{course.late:.3g}",
        errors=f"{-course.rise:.0f}" if -course.rise <= MOST_ERRORS else f"more than {MOST_ERRORS}",
    )  # fmt: skip


#: of a few lines without a scatter to compare with: what is left of the first reward, what a reward is at least, and
#: lines: of so many values that scatter by chance one course in 30 has its highest first and its lowest last
LEFT, SOME, LINES = 0.4, 0.05, 6


def of_quoted(courses: Courses) -> Optional[Finding]:
    """The same of a few lines that a person quotes, where neither KL nor gradient show what brought it down."""
    course = courses.of.get("reward") if courses.excerpt else None
    gone = _failing(courses.words) if course is not None and course.last < course.first else None
    if course is not None and gone is not None:
        return found(
            PROBLEM, TOML["elsewhere"], confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
            best=f"{course.first:.3g}", value=f"{course.last:.3g}", name=gone[0], before=f"{gone[1]:g}",
            now=f"{gone[2]:g}",
        )  # fmt: skip
    course = courses.fell("reward", LEFT)
    if course is None or course.count < LINES or course.first < SOME:
        return None
    if courses.rose("kl", 10, 0.3) or courses.rose("grad_norm", 20, 10):
        return None
    return found(
        PROBLEM, SHOWN, confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
        best=f"{course.first:.3g}", value=f"{course.last:.3g}", count=course.count,
    )  # fmt: skip


#: a share of calls, episodes or answers that came to nothing, as a line of metrics tells it
_FAILING = later(
    r"(?P<name>[\w./-]{0,60}(?:empty|fail|error|timeout|invalid|missing|unavailable)[\w./-]{0,30})['\"]?\s?[:=]\s?"
    r"(?P<value>[01](?:\.\d+)?)(?![\w.])"
)
#: such shares before and since
_WELL, _GONE = 0.1, 0.5


def _failing(words: str) -> tuple[str, float, float] | None:
    """A share that was near 0 and stays high from some line on: its name, the first value and the last one."""
    told: dict[str, list[float]] = {}
    for match in _FAILING.finditer(words):
        told.setdefault(match["name"].strip("'\" "), []).append(float(match["value"]))
    for name, values in told.items():
        since = next((at for at, value in enumerate(values) if value >= _GONE), len(values))
        before, after = values[:since], values[since:]
        if before and len(after) > 1 and max(before) <= _WELL and min(after) >= _GONE:
            return name, before[0], after[-1]
    return None

"""Judges gradient-exploding (NUM008), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Optional

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
SPIKES = TOML["spikes"]
LOSS, GUESS = TOML["loss"], TOML["guess"]


#: healthy norms scatter log-normally by a factor of two or three, with rare outliers of ten; three running of twenty
#: were not seen in 2 million simulated steps (tests/rules)
TIMES, RUNNING = 20.0, 3

#: ten times the usual `max_grad_norm` of 1.0; below it nothing explodes
FLOOR = 10.0

#: steps of the first baseline; later the median of the last 100 steps stands for it when that is higher
FIRST, LAST = 5, 100


@rule(PROBLEM, needs=("grad_norm",), symptom_of=("RLX014",))
class GradientExploding:
    """Compares with the run's beginning, or with its recent past where that is higher."""

    def __init__(self) -> None:
        self._base = Baseline(FIRST)
        self._recent = Window(LAST)
        self._alarm = Alarm(RUNNING)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one norm; zeros (no signal yet) and overflows are not part of the baseline."""
        value = point.value
        if not math.isfinite(value) or value <= 0 or not self._base.push(value) or self._base.median is None:
            return None
        usual = self._base.median if not self._recent.full else max(self._base.median, self._recent.median)
        bad = value > max(FLOOR, TIMES * usual)
        if not bad:
            self._recent.push(value)
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY,
            value=f"{value:.3g}",
            ratio=f"{value / usual:.0f}",
            step=step_text(point.step),
            **sighting(point, self._alarm.since),
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose norms are far from bad, whatever the median of the last ones is."""
        norms, first = stretch["grad_norm"], self._base.median
        if first is None or not norms.finite or norms.low <= 0 or norms.high > max(FLOOR, TIMES * first):
            return False
        self._recent.extend(norms.values)
        self._alarm.rest(len(norms))
        return True


#: a spike is this many times the median of the last norms, and this many deviations of their logarithm beyond it. Of
#: log-normal noise with single outliers of ten, spikes like this come less than once in ten thousand steps; four within
#: 500 steps do not come by chance (tests/rules)
SPIKE, DEVIATIONS, SPIKES_NEEDED, WITHIN, USUAL = 15.0, 6.0, 4, 500, 31

#: the usual `max_grad_norm`: a spike below it is not even clipped
CLIPPED = 1.0


@rule(PROBLEM, needs=("grad_norm",), symptom_of=("RLX014",))
class GradientSpikes:
    """Counts single norms far beyond their neighbours."""

    def __init__(self) -> None:
        self._usual = Window(USUAL)
        self._spikes: deque[tuple[int, float]] = deque()
        self._in_spike = False
        self._count = 0
        self._alarm = Alarm(1, calm=WITHIN)
        self._began: Optional[int] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one norm by those before it."""
        value = point.value
        if not math.isfinite(value) or value <= 0:
            return None
        self._count += 1
        while self._spikes and self._spikes[0][0] <= self._count - WITHIN:
            self._spikes.popleft()
        before, self._in_spike = self._in_spike, self._is_spike(value)
        if not self._in_spike or before:  # what lasts is not single, and becomes what is usual
            self._usual.push(math.log(value))
        else:
            self._began = self._began if self._spikes else point.step
            self._spikes.append((self._count, value))
        if not self._alarm.see(len(self._spikes) >= SPIKES_NEEDED, point.step):
            return None
        highest = max(norm for _, norm in self._spikes)
        return found(
            PROBLEM, SPIKES, confidence=LIKELY, count=len(self._spikes), value=f"{highest:.3g}",
            usual=f"{math.exp(self._usual.median):.2g}", began=step_text(self._began), step=step_text(point.step),
            **sighting(point, self._began),
        )  # fmt: skip

    def _is_spike(self, value: float) -> bool:
        if len(self._usual) < FIRST or value <= CLIPPED:
            return False
        beyond = math.log(value) - self._usual.median
        return beyond > math.log(SPIKE) and beyond > DEVIATIONS * self._usual.sigma()

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that are all below what can be a spike."""
        norms = stretch["grad_norm"]
        if self._spikes or self._alarm.on or not norms.finite or norms.low <= 0 or not self._usual.full:
            return False
        low = min(math.exp(self._usual.low), norms.low)
        if norms.high > max(CLIPPED, SPIKE * low):
            return False
        self._usual.extend([math.log(each) for each in norms.values])
        self._count += len(norms)
        self._in_spike = False
        self._alarm.rest(len(norms))
        return True


#: logged losses at the beginning and at the end that are held against each other, how many there must be between them,
#: how many times the highest of the first ones the lowest of the last ones is, and nats below which a loss is well
#: fitted however it moves. Losses of fine-tuning begin at a few nats and end lower; noise does not part them so far
EDGE, BETWEEN, CLIMB, FITTED = 8, 8, 3.0, 1.0
#: metrics of objectives whose loss may go anywhere
_FREE = ("reward", "kl", "rewards/margins")


@rule(PROBLEM, needs=("loss", *_FREE))
class LossEndsAbove:
    """A run of supervised training all of whose last losses lie far above all of its first ones."""

    def __init__(self) -> None:
        self._first: list[float] = []
        self._last = Window(EDGE)
        self._count = 0
        self.over = False
        self._point: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in; a loss below 0 is no cross-entropy."""
        if point.name in _FREE or not point.value > 0:
            self.over = True
        elif math.isfinite(point.value):
            self._take([point.value], point)
        return None

    def _take(self, values: Sequence[float], last: Point) -> None:
        self._first += values[: max(EDGE - len(self._first), 0)]
        self._last.extend(values)
        self._count += len(values)
        self._point = last

    def calm(self, stretch: Stretch) -> bool:
        """Take positive losses in: they are judged at the end."""
        losses = stretch["loss"]
        if any(stretch[name].values for name in _FREE) or not losses.values or not losses.finite or losses.low <= 0:
            return False
        self._take(losses.values, stretch.last("loss"))
        return True

    def finish(self) -> Optional[Finding]:
        """Hold the end against the beginning."""
        if self.over or self._point is None or self._count < 2 * EDGE + BETWEEN:
            return None
        before, now = max(self._first), self._last.median
        if self._last.low <= max(CLIMB * before, FITTED):
            return None
        return found(
            PROBLEM, LOSS, confidence=LIKELY, before=f"{before:.3g}", now=f"{now:.3g}", ratio=f"{now / before:.0f}",
            step=step_text(self._point.step), **sighting(self._point),
        )  # fmt: skip


#: nats of who guesses among 262,144 tokens, the largest vocabulary in use, logged losses running beyond it, and the
#: first value from which on they count: later a loss may climb so far and come back
#: (https://huggingface.co/docs/transformers/model_doc/gemma3)
GUESSED, BEYOND, EARLY = math.log(262_144), 8, 5


@rule(PROBLEM, needs=("loss", *_FREE))
class LossAboveGuessing:
    """A run of supervised training whose loss left the region of any model after its first value, and stays there.

    Where a loss is logged as a sum of several, it is from the first value on.
    """

    def __init__(self) -> None:
        self._first: Optional[float] = None
        self._began: Optional[Point] = None
        self._rows = self._count = 0
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in; a loss below 0 is no cross-entropy."""
        if self.over or point.name in _FREE or not point.value > 0:
            self.over = self.over or not math.isnan(point.value)
            return None
        self._rows += 1
        if self._first is None:
            self._first = point.value
        if point.value <= max(GUESSED, CLIMB * self._first):
            self._count, self._began, self.over = 0, None, self._rows >= EARLY
            return None
        self._began, self._count = self._began or point, self._count + 1
        if self._count < BEYOND:
            return None
        self.over = True
        return found(
            PROBLEM, GUESS, confidence=LIKELY, first=f"{self._first:.3g}", now=f"{point.value:.3g}",
            guess=f"{GUESSED:.1f}", step=step_text(self._began.step), **sighting(point, self._began.step),
        )  # fmt: skip


def of_quoted(courses: Courses) -> Optional[Finding]:
    """The same of a few lines that a person quotes."""
    course = courses.rose("grad_norm", TIMES, FLOOR)
    if course is None or course.first == 0:
        return None
    return found(
        PROBLEM, MESSAGE, confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
        value=f"{course.last:.3g}", ratio=f"{course.last / course.first:.0f}", step=step_text(course.last_step),
    )  # fmt: skip

"""Judges learning-rate-zero (RLX017), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MOVES = TOML["moves"]
WARM_UP = TOML["warm_up"]
EARLY = TOML["early"]


#: metrics of the policy that stand still with it
_POLICY = ("reward", "entropy", "kl")
#: standard errors between the halves; values in each of them
_APART, _LEAST = 4.0, 4

#: logged steps; a warm-up begins at 0 and leaves it with the first applied step
FIRST, WHOLE_RUN = 20, 5


@rule(PROBLEM, needs=("grad_norm", "learning_rate", *_POLICY), symptom_of=("NUM005", "NUM006", "DSP017"))
class LearningRateZero:
    """Looks at the beginning only: a schedule may end at 0."""

    def __init__(self) -> None:
        self._zeros = 0
        self.over = self._overflowed = False
        self._last: Optional[Point] = None
        self._values: dict[str, list[float]] = {name: [] for name in _POLICY}

    def update(self, point: Point) -> Optional[Finding]:
        """Count zeros until the first rate above."""
        if point.name == "grad_norm":
            self._overflowed = not math.isfinite(point.value)
            return None
        if point.name in self._values:
            if not self.over and math.isfinite(point.value):
                self._values[point.name].append(point.value)
            return None
        if self.over or self._overflowed:
            return None
        if point.value != 0:
            self.over = True
            return None
        self._zeros += 1
        self._last = point
        return self._found(point) if self._zeros == FIRST else None

    def _found(self, point: Point) -> Finding:
        self.over = True
        count, step = self._zeros, step_text(point.step)
        for name, values in self._values.items():
            halves = _halves(values)
            if halves is not None:
                return found(
                    PROBLEM, MOVES, confidence=LIKELY, count=count, step=step, metric=name,
                    first=f"{halves[0]:.3g}", last=f"{halves[1]:.3g}", **sighting(point),
                )  # fmt: skip
        return found(PROBLEM, MESSAGE, count=count, step=step, **sighting(point))

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self.over or self._last is None or self._zeros < WHOLE_RUN:
            return None
        return self._found(self._last)


def _halves(values: list[float]) -> Optional[tuple[float, float]]:
    """Means of the first and the second half, where they lie apart by more than chance; None where they do not."""
    middle = len(values) // 2
    if middle < _LEAST:
        return None
    halves = (values[:middle], values[middle:])
    means = [sum(each) / len(each) for each in halves]
    spread = [sum((value - sum(each) / len(each)) ** 2 for value in each) for each in halves]
    error = math.sqrt(sum(spread) / (len(values) - 2) * (1 / len(halves[0]) + 1 / len(halves[1])))
    scale = max(abs(mean) for mean in means)
    apart = abs(means[1] - means[0])
    return (means[0], means[1]) if apart > _APART * error and apart > 0.01 * scale else None


#: logged rates by which a curve is told from a straight line, and how far from its line the rate of a warm-up may lie;
#: of fewer rows only as far as four printed digits explain: a half cosine of six rows is off by a tenth
WARM_ROWS, OFF_LINE = 20, 0.02
FEW_WARM_ROWS, OFF_PRINTED = 6, 0.002


@rule(PROBLEM, needs=("learning_rate", "train_runtime"), symptom_of=("NUM005", "NUM006", "DSP017"))
class WarmUpLongerThanRun:
    """A rate that rises in a straight line from nothing up to the last step of a run that has ended by itself."""

    def __init__(self) -> None:
        self._first: Optional[Point] = None
        self._middle: list[Point] = []
        self._last: Optional[Point] = None
        self._rows = 0
        self._rises = True

    def update(self, point: Point) -> Optional[Finding]:
        """Take a rate in, or judge when the trainer prints how long it took."""
        if point.name == "train_runtime":
            return self._judge()
        if not self._rises:
            return None
        self._rises = math.isfinite(point.value) and (self._last is None or point.value > self._last.value)
        self._rows += 1
        self._first, self._last = self._first or point, point
        self._middle.append(point)
        if len(self._middle) > 2 * WARM_ROWS:
            del self._middle[::2]
        return None

    @property
    def over(self) -> bool:
        """Whether a rate has not risen."""
        return not self._rises

    def calm(self, stretch: Stretch) -> bool:
        """Take rates in once one has not risen."""
        return not self._rises and not stretch["train_runtime"].values

    def _judge(self) -> Optional[Finding]:
        first, last = self._first, self._last
        if not self._rises or first is None or last is None or self._rows < FEW_WARM_ROWS or last.value <= 0:
            return None
        if first.step is None or last.step is None or last.step <= first.step:
            return None
        slope = (last.value - first.value) / (last.step - first.step)
        off = max(abs(first.value + slope * ((p.step or 0) - first.step) - p.value) for p in self._middle)
        if off > (OFF_LINE if self._rows >= WARM_ROWS else OFF_PRINTED) * last.value or first.value > 0.2 * last.value:
            return None
        return found(
            PROBLEM, WARM_UP, confidence=LIKELY, value=f"{last.value:.3g}", step=step_text(last.step), **sighting(last)
        )


#: share of the run at which a schedule may be at its end, and at which its warm-up is surely over
ENDS_FROM, WARM_UNTIL = 0.9, 0.05
_PROCESSES = ("num_processes", "nproc_per_node", "world_size", "n_gpus_per_node", "num_gpus", "gpus")


def of_courses(courses: Courses) -> Optional[Finding]:
    """A rate of exactly 0 long before the end of the run: its schedule was stepped too often."""
    rate, total = courses.of.get("learning_rate"), courses.total
    if rate is None or not total or rate.last_step is None or rate.last != 0:
        return None
    if not WARM_UNTIL * total < rate.last_step < ENDS_FROM * total or (rate.count > 1 and rate.high == 0):
        return None
    processes = courses.number(*_PROCESSES)
    times = total / rate.last_step
    return found(
        PROBLEM, EARLY, confidence=LIKELY, severity=WARNING, where=Where(file=rate.source, step=rate.last_step),
        step=rate.last_step, total=total, times=f"{times:.2g}",
        processes=f"{processes:g}" if processes is not None and processes >= times * ENDS_FROM else "",
    )  # fmt: skip

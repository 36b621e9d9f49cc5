"""The whole course of a metric in bounded memory, and what can be said of it against its own noise.

A run is judged by its course, not by constants: has a metric risen, has it stopped rising, how large is what it gained
beside the noise of single steps. The values are kept as means over blocks of equal
length; when there are too many blocks, neighbours become one. Nothing grows with the run.

The noise is estimated from second differences, which a straight trend leaves at zero: of independent noise with
standard deviation s, x[i-1] - 2 x[i] + x[i+1] has the deviation s * sqrt(6)
(https://www.itl.nist.gov/div898/handbook/ppc/section4/ppc441.htm, difference-based estimators). Noise that is
correlated from step to step shows between blocks, so the larger of both estimates counts.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Optional

from doctor.base.stats import MAD_TO_SIGMA, median_of_sorted, total

#: blocks kept; half as many after neighbours were joined
MOST_BLOCKS = 64

#: second differences of single values that the noise is estimated from
_RECENT = 63

_SECOND = math.sqrt(6)


class Slope(NamedTuple):
    """A straight line through a part of the course.

    Args:
        gain: how much it rises from the beginning of the part to its end.
        error: standard error of that.
        level: mean of the part.
        values: how many are in it.

    """

    gain: float
    error: float
    level: float
    values: int

    @property
    def sigmas(self) -> float:
        """The gain in standard errors; infinite where there is no noise at all."""
        return self.gain / self.error if self.error > 0 else math.copysign(math.inf, self.gain) if self.gain else 0.0


class Looks:
    """When to look: at counts that grow by a tenth, so that a run of n values is judged about 24 log10(n) times.

    Few looks keep both the cost and the rate of false alarms of repeated testing low.
    """

    __slots__ = ("_next", "count")

    def __init__(self, first: int) -> None:
        self.count = 0
        self._next = first

    @property
    def left(self) -> int:
        """Values up to and with the one behind which the next look is due."""
        return self._next - self.count

    def due(self, values: int = 1) -> bool:
        """Count values, at most as many as are left; True when it is time."""
        self.count += values
        if self.count < self._next:
            return False
        self._next = max(self.count + 1, self.count * 11 // 10)
        return True

    def copy(self) -> Looks:
        """The same, on its own from here on."""
        twin = Looks(self._next)
        twin.count = self.count
        return twin


class History:
    """The course of one metric.

    Values that are not finite are left out. A step of None is the place of the value.
    """

    __slots__ = ("_count", "_means", "_noise", "_steps", "_sum", "_two", "count", "width")

    def __init__(self) -> None:
        self.count = 0
        self.width = 1
        self._means: list[float] = []
        self._steps: list[int] = []
        self._sum, self._count = 0.0, 0  # of the block that is not full
        self._noise: deque[float] = deque(maxlen=_RECENT)  # sorted when somebody asks: that is seldom
        self._two: tuple[float, ...] = ()

    def push(self, value: float, step: Optional[int] = None) -> None:
        """Take a value in."""
        if value - value != 0:
            return
        self.count += 1
        two = self._two
        if len(two) == 2:
            self._noise.append(abs(two[0] - 2 * two[1] + value))
        self._two = (*two[-1:], value)
        if not self._count:
            self._steps.append(self.count if step is None else step)
        self._sum += value
        self._count += 1
        if self._count == self.width:
            self._close_block()

    def extend(self, values: Sequence[float], steps: Sequence[Optional[int]]) -> None:
        """Take many finite values in; as `push` with each."""
        at, count = 0, len(values)
        while at < count:
            if not self._count:
                step = steps[at]
                self._steps.append(self.count + at + 1 if step is None else step)
            part = values[at : at + self.width - self._count]
            self._sum = sum(part, self._sum)
            self._count += len(part)
            at += len(part)
            if self._count == self.width:
                self._close_block()
        self.count += count
        last = (*self._two, *values[-_RECENT - 2 :])
        self._noise.extend([abs(a - 2 * b + c) for a, b, c in zip(last, last[1:], last[2:])])  # noqa: B905
        self._two = last[-2:]

    def copy(self) -> History:
        """The same course, on its own from here on."""
        twin = History()
        twin.count, twin.width, twin._sum, twin._count = self.count, self.width, self._sum, self._count
        twin._means, twin._steps, twin._two = self._means.copy(), self._steps.copy(), self._two
        twin._noise = self._noise.copy()
        return twin

    def _close_block(self) -> None:
        self._means.append(self._sum / self.width)
        self._sum, self._count = 0.0, 0
        if len(self._means) == MOST_BLOCKS:
            self._join()

    def _join(self) -> None:
        means = self._means
        self._means = [(one + two) / 2 for one, two in zip(means[::2], means[1::2])]  # noqa: B905 - Python 3.9
        self._steps = self._steps[::2]
        self.width *= 2

    @property
    def means(self) -> Sequence[float]:
        """Means of the blocks that are full, in order."""
        return self._means

    def step_of(self, block: int) -> int:
        """The step at which a block began."""
        return self._steps[block]

    def sigma(self) -> float:
        """Standard deviation of the noise of a single value."""
        return MAD_TO_SIGMA * median_of_sorted(sorted(self._noise)) / _SECOND if self._noise else 0.0

    def _error_of_block(self) -> float:
        """Standard deviation of the noise of a block's mean."""
        means = self._means
        seconds = sorted([abs(a - 2 * b + c) for a, b, c in zip(means, means[1:], means[2:])])  # noqa: B905
        between = MAD_TO_SIGMA * median_of_sorted(seconds) / _SECOND if len(seconds) >= 8 else 0.0
        return max(between, self.sigma() / math.sqrt(self.width))

    def slope(self, begin: int = 0, end: Optional[int] = None) -> Optional[Slope]:
        """The line of least squares through blocks `begin` up to `end`; None for fewer than three of them."""
        part = self._means[begin:end]
        count = len(part)
        if count < 3:
            return None
        level = total(part) / count
        middle = (count - 1) / 2
        spread = count * (count * count - 1) / 12
        rise = total([(place - middle) * value for place, value in enumerate(part)]) / spread
        error = self._error_of_block() / math.sqrt(spread)
        return Slope(rise * (count - 1), error * (count - 1), level, count * self.width)

    def level(self, begin: int = 0, end: Optional[int] = None) -> float:
        """Median of the blocks' means in a part that is not empty."""
        return median_of_sorted(sorted(self._means[begin:end]))

    def stray(self, begin: int) -> tuple[float, float]:
        """How far a quarter of the part from a block on lies from the part's mean, at most, and its standard error."""
        part = self._means[begin:]
        size = max(1, len(part) // 4)
        level = total(part) / len(part)
        quarters = (part[-size:], part[:size], part[size : 2 * size], part[-2 * size : -size])
        return max(abs(total(each) / size - level) for each in quarters), self._error_of_block() / math.sqrt(size)

    def settled(self, least: int, share: float, stray: float) -> Optional[tuple[int, Slope, float]]:
        """Where the course stopped rising: the block, the line from there on, and what was gained before it.

        The earliest of a few places from which on no rise is seen (below 1.5 standard errors), what may have been
        gained unseen (two standard errors above the line) is less than `share` of the gain before, and the course has
        stayed where it was: a straight line through a rise and a fall is flat, too.

        Args:
            least: values that must stand behind the place.
            share: see above.
            stray: share of the gain by which a quarter of the part may lie beside its mean, where it is no noise.

        """
        count = len(self._means)
        if count < 12:
            return None
        edge = max(2, count // 10)
        first = self.level(0, edge)
        for begin in range(edge, count - 3):
            line = self.slope(begin)
            if line is None or line.values < least:
                return None
            gain = line.level - first
            if line.sigmas < 1.5 and max(line.gain, 0.0) + 2 * line.error < share * gain:
                far, error = self.stray(begin)
                if far <= max(stray * gain, 4 * error):
                    return begin, line, gain
        return None

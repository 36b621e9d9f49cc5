"""Robust statistics over bounded windows, and the alarm that all live rules share.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from itertools import accumulate, chain
from math import fsum
from typing import Optional

#: the median absolute deviation times this estimates the standard deviation of normal noise
#: (https://en.wikipedia.org/wiki/Median_absolute_deviation)
MAD_TO_SIGMA = 1.4826


def total(values: Sequence[float]) -> float:
    """The sum, exact to the last digit; infinite or NaN where no float holds it, which `math.fsum` raises at."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):
        return float(sum(values))


def median_of_sorted(values: list[float]) -> float:
    """The middle of a sorted list that is not empty."""
    count = len(values)
    middle = count // 2
    return values[middle] if count % 2 else (values[middle - 1] + values[middle]) / 2


class Window:
    """The last `size` finite values, with their median at any time.

    A push costs a search in `size` values where somebody asks behind each of them; where nobody does, next to nothing,
    and the next question costs the sorting.
    """

    __slots__ = ("_asked", "_order", "_sorted", "full", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        #: whether `size` values have come in; every rule asks for it at every point
        self.full = False
        self._order: deque[float] = deque()
        self._sorted: list[float] = []  # of as many values as there are, or it has to be made anew
        self._asked = True  # since the last push

    def __len__(self) -> int:
        """How many values are in the window."""
        return len(self._order)

    def push(self, value: float) -> Optional[float]:
        """Take a value in; gives the one that had to leave for it, None while there is room."""
        order = self._order
        order.append(value)
        if self.full:
            oldest = order.popleft()
            if self._asked:
                ordered = self._sorted
                insort(ordered, value)
                del ordered[bisect_left(ordered, oldest)]
                self._asked = False
            elif self._sorted:
                self._sorted = []
            return oldest
        if self._asked:
            insort(self._sorted, value)
            self._asked = False
        elif self._sorted:
            self._sorted = []
        self.full = len(order) == self.size
        return None

    def _in_order(self) -> list[float]:
        """The values, sorted."""
        self._asked = True
        if not self._sorted:
            self._sorted = sorted(self._order)
        return self._sorted

    def extend(self, values: Sequence[float]) -> None:
        """Take many values in; as `push` with each, but only the last `size` cost anything."""
        order = self._order
        order.extend(values[-self.size :])
        while len(order) > self.size:
            order.popleft()
        self._sorted, self._asked = [], False
        self.full = len(order) == self.size

    def medians(self, values: Sequence[float]) -> list[float]:
        """Take many values into a full window; gives its median behind each of them."""
        found, ordered, order, middle = [], self._in_order(), self._order, self.size >> 1
        odd = self.size & 1
        for value in values:
            insort(ordered, value)
            del ordered[bisect_left(ordered, order.popleft())]
            order.append(value)
            found.append(ordered[middle] if odd else (ordered[middle - 1] + ordered[middle]) / 2)
        return found

    def most_above(self, limit: float, values: Sequence[float]) -> int:
        """How many values above a limit a full window holds at most while it takes these in; it stays as it is."""
        above = accumulate([value > limit for value in chain(self._order, values)])
        sums = [0, *above]
        return max([end - start for start, end in zip(sums, sums[self.size :])])  # noqa: B905 - Python 3.9

    def copy(self) -> Window:
        """The same window, on its own from here on."""
        twin = Window(self.size)
        twin._order, twin.full = self._order.copy(), self.full
        twin._sorted, twin._asked = self._sorted.copy(), self._asked
        return twin

    @property
    def median(self) -> float:
        """Median of what is in the window, which must not be empty."""
        self._asked = True
        values = self._sorted or self._in_order()  # median_of_sorted, without the call
        count = len(values)
        middle = count >> 1
        return values[middle] if count & 1 else (values[middle - 1] + values[middle]) / 2

    @property
    def low(self) -> float:
        """The smallest value in the window."""
        return min(self._order)

    @property
    def high(self) -> float:
        """The greatest value in the window."""
        return max(self._order)

    def sigma(self) -> float:
        """Estimate of the noise's standard deviation from the median absolute deviation; costs O(size log size)."""
        middle = self.median
        return MAD_TO_SIGMA * median_of_sorted(sorted(abs(value - middle) for value in self._sorted))

    def mean(self) -> float:
        """Mean of what is in the window, which must not be empty; costs O(size)."""
        return sum(self._in_order()) / len(self._order)

    def error_of_mean(self) -> float:
        """The standard error of that; costs O(size)."""
        ordered = self._in_order()
        count, mean = len(ordered), self.mean()
        error: float = (sum([(value - mean) * (value - mean) for value in ordered]) / count) ** 0.5 / count**0.5
        return error

    def clear(self) -> None:
        """Forget everything."""
        self._order.clear()
        self._sorted, self._asked = [], True
        self.full = False


class Baseline:
    """Median and noise of the first `size` values, after `skip` that belong to the warm-up; frozen once known."""

    __slots__ = ("_skip", "_window", "median", "sigma")

    def __init__(self, size: int, skip: int = 0) -> None:
        self._skip = skip
        self._window: Optional[Window] = Window(size)
        self.median: Optional[float] = None
        self.sigma = 0.0

    @property
    def known(self) -> bool:
        """Whether no further value changes it."""
        return self._window is None

    def push(self, value: float) -> bool:
        """Take a value in while there is room; True once the baseline is known without this value."""
        window = self._window
        if window is None:
            return True
        if self._skip:
            self._skip -= 1
            return False
        window.push(value)
        if window.full:
            self.median, self.sigma, self._window = window.median, window.sigma(), None
        return False


class Alarm:
    """Goes off once when something was bad `needed` times running; ready again after `calm` good times running."""

    __slots__ = ("bad", "calm", "good", "needed", "on", "since", "total")

    def __init__(self, needed: int = 1, calm: int = 20) -> None:
        self.needed, self.calm = needed, calm
        self.bad = self.good = self.total = 0
        self.on = False
        self.since: Optional[int] = None

    def see(self, bad: bool, step: Optional[int]) -> bool:
        """Take one observation in; True exactly when the alarm goes off. `since` is the step at which it began."""
        if not bad:
            if self.bad:
                self.bad = 0
            if self.on:  # what is good before counts for nothing
                self.good += 1
                if self.good >= self.calm:
                    self.on = False
            return False
        if self.bad == 0 and not self.on:
            self.since = step
        self.bad += 1
        self.total += 1
        self.good = 0
        if self.on or self.bad < self.needed:
            return False
        self.on = True
        return True

    def rest(self, times: int) -> None:
        """Take many good observations in."""
        if times > 0:
            self.good += times
            self.bad = 0
            if self.on and self.good >= self.calm:
                self.on = False

    def persist(self, times: int) -> None:
        """Take many bad observations in while it is on, where they say nothing new."""
        if times > 0:
            self.bad += times
            self.total += times
            self.good = 0


class Level:
    """A median of the last `size` values beyond a limit: goes off once, and is ready again after `size` good values.

    Args:
        limit: what the median must exceed.
        size: how many values the median is taken of.
        reached: whether a median that equals the limit is beyond it, too.

    """

    __slots__ = ("_alarm", "_reached", "_window", "limit")

    def __init__(self, limit: float, size: int, *, reached: bool = False) -> None:
        self.limit = limit
        self._reached = reached
        self._window, self._alarm = Window(size), Alarm(1, calm=size)

    def passed(self, value: float, step: Optional[int]) -> Optional[float]:
        """Take a finite value in; the median exactly when the alarm goes off."""
        self._window.push(value)
        if not self._window.full:
            return None
        median = self._window.median
        return median if self._alarm.see(self._beyond(median), step) else None

    def rest(self, values: Sequence[float], high: float) -> bool:
        """Take many finite values in that are all good, `high` the greatest; False, and none is taken, elsewhere."""
        if not self._window.full or self._beyond(max(high, self._window.high)):
            return False
        self._window.extend(values)
        self._alarm.rest(len(values))
        return True

    def _beyond(self, value: float) -> bool:
        return value >= self.limit if self._reached else value > self.limit


class Climb:
    """A rise without a pause from the first value on: each block's median is above that of the block before it.

    Args:
        block: values of a block.
        blocks: how many rises running count. Chance orders n medians so once in n! times.
        times: how many times the first median the last one must be.
        least: what the last one must be at least.

    """

    __slots__ = ("_block", "_blocks", "_count", "_last", "_least", "_risen", "_times", "first", "over")

    def __init__(self, block: int, blocks: int, times: float, least: float) -> None:
        self._block, self._blocks, self._times, self._least = Window(block), blocks, times, least
        self._count = self._risen = 0
        self._last = float("-inf")
        self.first = 0.0
        #: whether it has paused, or was told: no value changes anything any more
        self.over = False

    def passed(self, value: float) -> Optional[float]:
        """Take a finite value in; the last median exactly when the climb is long and high enough."""
        if self.over:
            return None
        self._block.push(value)
        self._count += 1
        if self._count % self._block.size:
            return None
        now = self._block.median
        if now <= self._last:
            self.over = True
            return None
        self.first, self._last, self._risen = self.first or now, now, self._risen + 1
        if self._risen < self._blocks or now < max(self._least, self._times * self.first):
            return None
        self.over = True
        return now

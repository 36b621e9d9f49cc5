"""When to do something: deadlines on the monotonic clock that neither drift nor come in a burst after a delay."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone
from functools import lru_cache
from math import ceil
from statistics import median
from typing import NamedTuple

#: a tick may come so much too early for a whole number of periods
_EARLY_S = 0.02
#: both clocks are read within so many seconds, or once more
_TOGETHER_S, _READS = 0.001, 4
#: rounds whose middle cost is what a round costs
_COSTS = 9


class Now(NamedTuple):
    """One moment on both clocks, and as text."""

    t_ns: int
    mono_s: float

    @property
    def iso(self) -> str:
        """ISO 8601 in UTC, microseconds."""
        return iso(self.t_ns)

    def at(self, t_ns: int) -> Now:
        """Another moment, given on the wall clock."""
        return Now(t_ns, self.mono_s + (t_ns - self.t_ns) / 1e9)


def iso(t_ns: int) -> str:
    """ISO 8601 in UTC, microseconds, of nanoseconds since the epoch."""
    seconds, rest = divmod(t_ns // 1000, 10**6)
    return f"{_second(seconds)}.{rest:06d}+00:00"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()[:19]


def now() -> Now:
    """Read both clocks, one right after the other; again where this process had to wait between them."""
    before = time.monotonic()
    for _ in range(_READS):
        t_ns, after = time.time_ns(), time.monotonic()
        if after - before < _TOGETHER_S:
            break
        before = after
    return Now(t_ns, after)


class Ticker:
    """Waits for the next tick. A tick that comes later than a whole period is left out and counted, never made up for.

    Args:
        period_s: from tick to tick.
        mono: monotonic clock; sleep: how to wait.

    """

    def __init__(
        self, period_s: float, mono: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.period_s = period_s
        self.missed = 0
        self._mono, self._sleep = mono, sleep
        self._begin = mono()
        self._number = 0

    def wait(self) -> float:
        """Wait for the next tick; gives the seconds by which we are late for it."""
        due = self._begin + self._number * self.period_s
        late = self._mono() - due
        if late < 0:
            self._sleep(-late)
            late = self._mono() - due
        # numbers, not sums: after a month the hundred-millionth tick is still where it belongs
        over = max(0, int(late / self.period_s))
        self.missed += over
        self._number += over + 1
        return max(0.0, late - over * self.period_s)

    def set_period(self, period_s: float) -> None:
        """From the last tick on another pace."""
        if period_s != self.period_s:
            self._begin += (self._number - 1) * self.period_s
            self._number, self.period_s = 1, period_s


class Every:
    """True when `period_s` have passed since it last was, and at the first time."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next: float | None = None

    def due(self, mono_s: float) -> bool:
        """Whether it is time."""
        if self._next is None:
            self._next = mono_s
        if mono_s < self._next - _EARLY_S:
            return False
        self._next += self._period_s
        if self._next <= mono_s:  # asked too seldom: from here on anew
            self._next = mono_s + self._period_s
        return True


class Paced:
    """Like `Every`, in whole seconds that grow with what it costs, so that it stays within a share of one core.

    Args:
        share: of a core that it may take, unless `longest_s` says sooner.
        longest_s: it comes at least so often.
        shortest_s: and at most so often.

    """

    def __init__(self, share: float, longest_s: float, shortest_s: float = 1.0) -> None:
        self._share, self._longest_s, self._shortest_s = share, longest_s, shortest_s
        self._costs: deque[float] = deque(maxlen=_COSTS)
        self._next = 0.0
        self.period_s = shortest_s

    def due(self, mono_s: float) -> bool:
        """Whether it is time."""
        if mono_s < self._next - _EARLY_S:
            return False
        on_time = mono_s - self._next < self.period_s
        self._next = (self._next if on_time else mono_s) + self.period_s
        return True

    def spent(self, cpu_s: float) -> None:
        """Take in what the last round cost; one that a busy machine made dear does not count alone."""
        self._costs.append(cpu_s)
        wanted = ceil(median(self._costs) / self._share)
        self.period_s = float(min(max(self._shortest_s, wanted), max(self._shortest_s, int(self._longest_s))))


class Stretch:
    """By how much the pace of one kind of work is slowed, so that a process stays within a share of a core.

    Args:
        share: of a core that all work of the process may take.

    """

    _FACTORS = (1, 2, 5, 10)
    _ROOM = 0.75  # a faster pace is taken up again when it would need no more than this of what is left

    def __init__(self, share: float) -> None:
        self._share = share
        self._too_much = False
        self.factor = 1

    def judge(self, work: float, others: float) -> bool:
        """Take in the shares of a core that the work took at this pace, and all else; whether the pace is another now.

        One stretch in which the machine was busy does not count alone.
        """
        at_full, left = work * self.factor, self._share - others
        wanted = next((each for each in self._FACTORS if at_full / each <= left), self._FACTORS[-1])
        if wanted < self.factor:
            faster = [each for each in self._FACTORS if wanted <= each < self.factor]
            wanted = next((each for each in faster if at_full / each <= self._ROOM * left), self.factor)
        again, self._too_much = self._too_much, wanted > self.factor
        if wanted == self.factor or (wanted > self.factor and not again):
            return False
        self.factor = wanted
        return True

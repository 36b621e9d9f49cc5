"""A share of the answers that should be small: bad for several steps running, or through the whole of a short run.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Optional

from doctor.base.stats import Alarm
from doctor.catalogue.series import Point


class BadShare:
    """Watches one share.

    Args:
        limit: share from which a step is bad.
        running: bad steps running that set off the alarm.
        whole_run: steps that a run must have at least to be judged by all of them at its end.

    """

    def __init__(self, limit: float, running: int, whole_run: int) -> None:
        self._limit, self._whole_run = limit, whole_run
        self._alarm = Alarm(running, calm=running)
        self._rows = 0
        self._last: Optional[Point] = None

    @property
    def since(self) -> Optional[int]:
        """Step at which it became bad."""
        return self._alarm.since

    def sees(self, point: Point) -> bool:
        """Take one share in; True when the alarm goes off."""
        self._rows += 1
        self._last = point
        return self._alarm.see(point.value >= self._limit, point.step)

    def at_end(self) -> Optional[Point]:
        """The last share of a run that was too short for the alarm and bad throughout, else None."""
        if self._alarm.on or self._last is None or not self._whole_run <= self._rows == self._alarm.bad:
            return None
        return self._last

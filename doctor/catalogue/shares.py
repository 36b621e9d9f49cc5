"""A share of the answers that should be small: bad for several steps running, or through the whole of a short run.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Optional

from doctor.base.stats import Alarm
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point
from doctor.catalogue.words import MAIN, ProblemWords


class BadShare:
    """Watches one share, for the rule of a problem that is one.

    Args:
        words: of the problem; its message is told the `share` and the `step` at which it became bad.
        limit: share from which a step is bad.
        running: bad steps running that set off the alarm.
        whole_run: steps that a run must have at least to be judged by all of them at its end.

    """

    def __init__(self, words: ProblemWords, limit: float, running: int, whole_run: int) -> None:
        self._words, self._limit, self._whole_run = words, limit, whole_run
        self._alarm = Alarm(running, calm=running)
        self._rows = 0
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one share."""
        self._rows += 1
        self._last = point
        return self._found(point) if self._alarm.see(point.value >= self._limit, point.step) else None

    def finish(self) -> Optional[Finding]:
        """Judge a run that was too short for the alarm as a whole: it was bad throughout."""
        if self._alarm.on or self._last is None or not self._whole_run <= self._rows == self._alarm.bad:
            return None
        return self._found(self._last)

    def _found(self, point: Point) -> Finding:
        began = self._alarm.since
        return found(
            self._words.problem, self._words[MAIN], confidence=LIKELY, share=f"{100 * point.value:.0f} %",
            step=step_text(began), **sighting(point, began),
        )  # fmt: skip

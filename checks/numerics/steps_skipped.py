"""Judges steps-skipped (NUM009), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections import deque
from typing import Optional

from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: steps looked back on, steps left to the calibration of the scale, and the share that is too much: a hundred
#: times the
#: rate of a scale that is doubled every 1000 (DeepSpeed) or 2000 (torch) steps
LOOK_BACK, CALIBRATION, SHARE = 200, 100, 0.1


@rule(PROBLEM, needs=("skipped_steps", "grad_norm"), symptom_of=("NUM005", "NUM006", "DSP017"))
class StepsSkipped:
    """Counts skipped steps of the engine's counter, else rows with an infinite gradient."""

    def __init__(self) -> None:
        self._marks: deque[tuple[int, float]] = deque()
        self._rows: deque[bool] = deque()
        self._infinite = self._seen = 0
        self._counted = False
        self._alarm = Alarm(1, calm=LOOK_BACK)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a counter or a gradient in."""
        if point.name == "skipped_steps":
            self._counted = True
            return self._counter(point)
        return None if self._counted else self._row(point)

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in with finite gradients behind as many of those as are looked back on."""
        norms = stretch["grad_norm"]
        if stretch["skipped_steps"].values or (not self._counted and not norms.finite):
            return False
        if not self._counted:
            if self._infinite or len(self._rows) < LOOK_BACK:
                return False
            self._seen += len(norms)
            self._alarm.rest(len(norms))
        return True

    def _counter(self, point: Point) -> Optional[Finding]:
        if point.step is None or point.step <= CALIBRATION or not math.isfinite(point.value):
            return None
        marks = self._marks
        marks.append((point.step, point.value))
        while len(marks) > LOOK_BACK or marks[0][0] < point.step - LOOK_BACK:
            marks.popleft()
        steps, skipped = point.step - marks[0][0], point.value - marks[0][1]
        return self._judge(point, round(skipped), steps) if steps >= CALIBRATION else None

    def _row(self, point: Point) -> Optional[Finding]:
        self._seen += 1
        if self._seen <= CALIBRATION:
            return None
        bad = math.isinf(point.value)
        self._rows.append(bad)
        self._infinite += bad
        if len(self._rows) > LOOK_BACK:
            self._infinite -= self._rows.popleft()
        return self._judge(point, self._infinite, LOOK_BACK) if len(self._rows) == LOOK_BACK else None

    def _judge(self, point: Point, skipped: int, steps: int) -> Optional[Finding]:
        if not self._alarm.see(skipped >= SHARE * steps, point.step):
            return None
        return found(PROBLEM, MESSAGE, skipped=skipped, steps=steps, step=step_text(point.step), **sighting(point))

"""Judges eval-loss-not-finite (NUM017), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@rule(PROBLEM, needs=("loss", "eval_loss"), symptom_of=("NUM006", "NUM007", "NUM016"))
class EvalLossNotFinite:
    """Told once, at the first; where the training is NaN, too, that is the trouble."""

    def __init__(self) -> None:
        self._loss: Optional[float] = None
        self._told = False
        self._alone: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value."""
        if point.name == "loss":
            self._loss = point.value
            return None
        if self._loss is None and not math.isfinite(point.value):
            self._alone = self._alone or point
        if self._told or math.isfinite(point.value) or self._loss is None or not math.isfinite(self._loss):
            return None
        self._told = True
        return found(PROBLEM, MESSAGE, value=f"{point.value:g}", step=step_text(point.step), **sighting(point))

    def calm(self, stretch: Stretch) -> bool:
        """Take in rows without such an evaluation."""
        if not stretch["eval_loss"].finite:
            return False
        if len(stretch["loss"]):
            self._loss = stretch.last("loss").value
        return True

    def finish(self) -> Optional[Finding]:
        """Judge an evaluation of which no training loss is told beside it."""
        point = self._alone
        if point is None or self._told or self._loss is not None:
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, value=f"{point.value:g}", step=step_text(point.step), **sighting(point)
        )

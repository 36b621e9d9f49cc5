"""Judges nan-painted-zero (NUM007), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: all completions cut off and masked leave TRL no token to take an entropy of, which is no NaN of the model
ALL_CUT_OFF = 1.0


@rule(
    PROBLEM,
    needs=("loss", "grad_norm", "entropy", "completions/clipped_ratio"),
    symptom_of=("NUM006", "RLX006", "RLX007"),
)
class NanPaintedZero:
    """Puts loss, gradient and entropy of one step side by side."""

    def __init__(self) -> None:
        self._step: Optional[int] = None
        self._loss_is_zero = False
        self._clipped: Optional[float] = None
        self._alarm = Alarm(1, 5)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a gradient or an entropy against the loss of the same step."""
        if point.name == "loss":
            self._step, self._loss_is_zero, self._clipped = point.step, point.value == 0, None
            return None
        if point.name == "completions/clipped_ratio":
            self._clipped = point.value
            return None
        if point.step != self._step or not self._loss_is_zero:
            return None
        bad = math.isnan(point.value)
        if point.name == "entropy" and (self._clipped is None or self._clipped >= ALL_CUT_OFF):
            return None
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, name=point.name, step=step_text(point.step), **sighting(point)
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in of which none has a loss of zero."""
        losses = stretch["loss"]
        if self._loss_is_zero or 0.0 in losses.values:
            return False
        self._step = losses.steps[-1] if losses.values else self._step
        return True

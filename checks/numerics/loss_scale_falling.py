"""Judges loss-scale-falling (NUM005), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.loss_scale import ATTEMPTED, HALVINGS, ScaleWatch
from doctor.catalogue.problem import ERROR, INFO, WARNING, Severity
from doctor.catalogue.rules import sighting
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
PREDICTED = TOML["predicted"]
FALLING = TOML["falling"]
CALIBRATING = TOML["calibrating"]
OVERFLOWING = TOML["overflowing"]


#: steps without overflow after which DeepSpeed doubles the scale (`loss_scale_window`); torch waits for 2000
WINDOW = 1000

#: overflows from the start after which the default 2^16 stands at 2^8: one that hysteresis eats, and 8 halvings
UNSEEN_CALIBRATION = 9

#: infinite gradients that stand for the third halving where no scale is told: hysteresis eats one after each growth,
#: and one more may be a batch of its own
UNSEEN_HALVINGS = 5


@rule(
    PROBLEM,
    needs=("loss_scale", ATTEMPTED, "min_loss_scale", "overflow", "skipped_steps", "grad_norm"),
    symptom_of=("NUM006",),
)
class LossScaleFalling:
    """Watches the scale; where none is told, infinite gradients stand for halvings."""

    def __init__(self) -> None:
        self.watch = ScaleWatch()
        self._told: Optional[Severity] = None
        self._good_rows = 0
        self._infinite: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one point in; only a fall of the scale, or an infinite gradient, can be a finding."""
        if point.name == "grad_norm":
            return self._gradient(point)
        severity = self.watch.feed(point)
        if self.watch.count == 0:
            self._told = None
        if severity is None or not self._is_news(severity):
            return None
        end = self.watch.end(point.step)
        message = CALIBRATING if severity is INFO else FALLING if end is None else PREDICTED
        scale = f"{self.watch.scale:g}"
        return found(
            PROBLEM, message, severity=severity, count=self.watch.count, scale=scale, end=end,
            **sighting(point, self.watch.began),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell nothing but finite gradients, once a step was applied."""
        norms = stretch["grad_norm"]
        if any(stretch[name].values for name in ("loss_scale", ATTEMPTED, "overflow", "skipped_steps")):
            return False
        if self._infinite is not None or not self.watch.applied or not norms.finite:
            return False
        self._good_rows += len(norms)
        return True

    def _is_news(self, severity: Severity) -> bool:
        """Each degree is told once, until the scale grows again."""
        if self._told is not None and self._told.rank <= severity.rank:
            return False
        self._told = severity
        return True

    def _gradient(self, point: Point) -> Optional[Finding]:
        watch = self.watch
        if self._infinite is None and watch.applied and -math.inf < point.value < math.inf:
            self._good_rows += 1  # the path of every step of a run that is well
            return None
        if not math.isinf(point.value):
            self._good_rows += math.isfinite(point.value)
            long_ago = watch.last is not None and (point.step or 0) - watch.last >= WINDOW
            if watch.scale is None and long_ago:
                watch.count, self._told = 0, None
            if point.value > 0:
                self._told = self._told if watch.applied else None
                watch.step_applied()
            return None
        self._infinite = point
        if watch.scale is not None:
            return None
        watch.halved(point.step)
        if watch.count < (UNSEEN_HALVINGS if watch.applied else UNSEEN_CALIBRATION):
            return None
        severity = ERROR if watch.applied else WARNING
        return self._overflowing(point, severity) if self._is_news(severity) else None

    def _overflowing(self, point: Point, severity: Severity) -> Finding:
        place = sighting(point, self.watch.began)
        return found(PROBLEM, OVERFLOWING, severity=severity, confidence=LIKELY, count=self.watch.count, **place)

    def finish(self) -> Optional[Finding]:
        """Judge a run that ended before any step was applied: every `grad_norm` that it logged is infinite."""
        if self._told is not None or self._infinite is None or self._good_rows or self.watch.count < HALVINGS:
            return None
        return self._overflowing(self._infinite, WARNING)

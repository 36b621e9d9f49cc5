"""Judges deepspeed-endless-skipping (DSP017), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.loss_scale import ATTEMPTED
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
AT_MINIMUM = TOML["at_minimum"]
INFINITE = TOML["infinite"]


#: DeepSpeed's `min_loss_scale` (https://www.deepspeed.ai/docs/config-json/#fp16-training-options)
MINIMUM = 1.0

#: overflows at the minimum: ZeRO 1 to 3 raise at the first
OVERFLOWS = 5

#: infinite gradients running: ZeRO 1 to 3 raise at the 34th overflow from 2^32
ROWS = 40


@rule(
    PROBLEM,
    needs=("loss_scale", ATTEMPTED, "min_loss_scale", "overflow", "skipped_steps", "grad_norm"),
    symptom_of=("NUM006",),
)
class EndlessSkipping:
    """Counts overflows at the minimum, and rows of infinite gradients."""

    def __init__(self) -> None:
        self._scale: Optional[float] = None
        self._minimum = MINIMUM
        self._skipped: Optional[float] = None
        self._overflows, self._rows = Alarm(OVERFLOWS, calm=1), Alarm(ROWS, calm=1)

    def update(self, point: Point) -> Optional[Finding]:
        """Take one point in."""
        if point.name in ("loss_scale", ATTEMPTED):
            self._scale = point.value
        elif point.name == "min_loss_scale":
            self._minimum = point.value
        elif point.name == "overflow":
            return self._overflow(point, 1)
        elif point.name == "skipped_steps":
            more = 0.0 if self._skipped is None else point.value - self._skipped
            self._skipped = point.value
            return self._overflow(point, more)
        elif self._rows.see(math.isinf(point.value), point.step) and not self._overflows.on:
            return found(PROBLEM, INFINITE, count=ROWS, step=step_text(point.step), **sighting(point, self._rows.since))
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell nothing but finite gradients."""
        norms = stretch["grad_norm"]
        if (
            any(stretch[name].values for name in ("loss_scale", ATTEMPTED, "overflow", "skipped_steps"))
            or not norms.finite
        ):
            return False
        self._rows.rest(len(norms))
        return True

    def _overflow(self, point: Point, more: float) -> Optional[Finding]:
        bad = more > 0 and self._scale is not None and self._scale <= self._minimum
        if not self._overflows.see(bad, point.step) or self._rows.on:
            return None
        return found(
            PROBLEM, AT_MINIMUM, count=OVERFLOWS, scale=f"{self._scale:g}", **sighting(point, self._overflows.since)
        )

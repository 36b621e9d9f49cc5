"""The dynamic loss scale as a series: halvings, growth, the first applied step, and when the minimum will be reached.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.problem import ERROR, INFO, WARNING, Severity
from doctor.catalogue.series import Point

#: the third halving without growth after the first applied step: one or two happen in every healthy run
HALVINGS = 3

#: the calibration is told of from the third halving on, and becomes a warning here (or 5 halvings above the minimum)
LOW_SCALE, ABOVE_MINIMUM = 2.0**8, 5

#: steps from halving to halving that mean a fall; slower ones high up may be the last of the calibration, for no scale
#: can grow before step 1000 (DeepSpeed) or 2000 (torch): a warning, and an error only when the scale is low as well
FAST = 20

#: the metric of a scale at which a step overflowed, where every overflow is told
ATTEMPTED = "attempted_loss_scale"

#: halvings that one step may bring: a scaler may be set to fall by a quarter at once
#: https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler (`backoff_factor`)
_AT_ONCE = 2

#: DeepSpeed's `min_loss_scale` (https://www.deepspeed.ai/docs/config-json/#fp16-training-options)
MINIMUM = 1.0


class ScaleWatch:
    """Follows `loss_scale`, `min_loss_scale`, `skipped_steps` and `overflow`; counts halvings since the last growth.

    A run that goes on from a checkpoint may begin with a lower scale: what nobody halved is the beginning of a series.

    Args:
        minimum: the scale that cannot be halved any more.

    """

    def __init__(self, minimum: float = MINIMUM) -> None:
        self.minimum = minimum
        self.scale: Optional[float] = None
        self.applied = False
        self.count = 0
        self.began: Optional[int] = None
        self.last: Optional[int] = None
        self._unchanged = 0
        self._skipped: Optional[float] = None
        self._step: Optional[int] = None
        self._again = False

    def feed(self, point: Point) -> Optional[Severity]:
        """Take a point in; gives how bad it stands when this point is a halving that counts, else None."""
        if point.name in ("loss_scale", ATTEMPTED):
            if self._begins_anew(point):
                self._forget()
            self._step = point.step
            return self._new_scale(point)
        if point.name == "min_loss_scale" and 0 < point.value < math.inf:
            self.minimum = point.value
        if point.name == "skipped_steps":
            if point.value == (0.0 if self._skipped is None else self._skipped):
                self.step_applied()
            self._skipped = point.value
        elif point.name == "overflow":
            self._unchanged = -1
        return None

    def step_applied(self) -> None:
        """An optimizer step was applied; with the first one the calibration is over."""
        if not self.applied:
            self.applied, self.count = True, 0

    def halved(self, step: Optional[int], times: int = 1) -> None:
        """Count halvings; also those that nothing but an infinite gradient tells of."""
        if self.count == 0:
            self.began = step
        self.last = step
        self.count += times

    def end(self, step: Optional[int]) -> Optional[int]:
        """Step at which the scale stands at its minimum when it goes on falling at this pace; None while unknown."""
        if step is None or self.began is None or self.scale is None or self.count < 2:
            return None
        pace = max(1.0, (step - self.began) / (self.count - 1))
        return step + math.ceil(pace * max(0.0, math.log2(self.scale / self.minimum)))

    def _begins_anew(self, point: Point) -> bool:
        """Whether the scale fell without an overflow that was told, or faster than overflows can make it fall."""
        if self.scale is None or not 0 < point.value < self.scale:
            return False
        if point.name == ATTEMPTED:
            return True
        steps = None if point.step is None or self._step is None else max(1, point.step - self._step)
        return steps is not None and math.log2(self.scale / point.value) > _AT_ONCE * steps

    def _forget(self) -> None:
        self.scale = self.began = self.last = None
        self.applied, self.count, self._unchanged = False, 0, 0
        self._again = True

    def _new_scale(self, point: Point) -> Optional[Severity]:
        before, scale = self.scale, point.value
        if not 0 < scale < math.inf:
            return None
        self.scale = scale
        if before is None:
            return None
        if scale > before:
            self.applied, self.count = True, 0
        elif scale == before:
            self._unchanged += 1
            if self._unchanged >= 2 and self._skipped is None:  # one overflow may pass unseen: DeepSpeed's hysteresis
                self.step_applied()
        else:
            self._unchanged = 0
            if self.last is not None and point.step is not None and point.step - self.last > 1 and self.count:
                self._gap()
            self.halved(point.step, max(1, round(math.log2(before) - math.log2(scale))))
            return self._severity(scale, point.step)
        return None

    def _gap(self) -> None:
        """Steps without a halving lie between two: where every overflow is told, they were applied."""
        if self._skipped is None:
            self.step_applied()

    def _severity(self, scale: float, step: Optional[int]) -> Optional[Severity]:
        low = scale <= max(LOW_SCALE, self.minimum * 2**ABOVE_MINIMUM)
        if self.applied:
            if self.count < HALVINGS:
                return None
            pace = 0.0 if step is None or self.began is None else (step - self.began) / (self.count - 1)
            return ERROR if low or pace <= FAST else WARNING
        if low and not self._again:
            return WARNING
        if self.count < HALVINGS:  # a run that goes on may well have begun low
            return None
        return WARNING if low else INFO

"""Judges models-differ-between-ranks (TOR061), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
APART = TOML["weights_apart"]

#: relative distance up to which two ranks told the same, as far as sums in another order and printed digits go; and
#: from which they did not. Data parallelism applies one gradient everywhere: equal weights stay equal
#: (https://docs.pytorch.org/docs/stable/notes/ddp.html, "Optimizer Step")
SAME, OTHER = 1e-6, 1e-5
#: steps at which they must be apart: one may have been printed at another moment
STEPS = 2
#: ranks and steps that are remembered
MOST_RANKS, MOST_STEPS = 64, 16


@rule(PROBLEM, needs=("weights/fingerprint",), every_rank=True)
class WeightsGoApart:
    """A figure of the weights that ranks told alike before, and differ in from some step on.

    Sharded weights (FSDP, tensor or pipeline parallelism) differ from the beginning, and are left alone.
    """

    def __init__(self) -> None:
        self._told: dict[Optional[int], dict[int, Point]] = {}
        self._alike = self._settled = False
        self._apart: set[Optional[int]] = set()

    def update(self, point: Point) -> Optional[Finding]:
        """Compare a rank with those that told the figure of the same step."""
        if self._settled or point.rank is None or not math.isfinite(point.value):
            return None
        step = self._told.setdefault(point.step, {})
        if point.rank in step:  # of another moment of the same step
            step.clear()
        other = next(iter(step.values()), None)
        if len(step) < MOST_RANKS:
            step[point.rank] = point
        if len(self._told) > MOST_STEPS:
            del self._told[next(iter(self._told))]
        return None if other is None else self._compared(other, point)

    def _compared(self, other: Point, point: Point) -> Optional[Finding]:
        distance = abs(point.value - other.value) / max(abs(point.value), abs(other.value), 1e-12)
        if not self._alike:
            self._alike, self._settled = distance <= SAME, distance > SAME
            return None
        if distance < OTHER:
            return None
        self._apart.add(point.step)
        if len(self._apart) < STEPS:
            return None
        self._settled = True
        return found(
            PROBLEM, APART, confidence=LIKELY, rank=other.rank, here=f"{other.value:.8g}", other=point.rank,
            there=f"{point.value:.8g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

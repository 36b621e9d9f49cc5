"""Judges gpus-wait-for-cpu (PRF012), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


FULL, WAITING, LEAST_SHARE, LEAST_S = 90.0, 30.0, 0.5, 120.0


@rule(PROBLEM, needs=("usage/bin_s", "usage/activity_pct", "host/cpu_pct"))
class GpusWaitForCpu:
    """Counts the bins in which the CPUs are full and the GPUs are not."""

    wants = ("gpus", "hosts")

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._gpus: Optional[Point] = None
        self._last: Optional[Point] = None
        self._bins = self._bad = 0
        self._activity = 0.0

    def update(self, point: Point) -> Optional[Finding]:
        """Pair the GPUs' figure with the CPUs' of the same bin."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name == "usage/activity_pct":
            self._gpus = point
        elif self._gpus is not None and self._gpus.step == point.step:
            self._bins += 1
            if point.value >= FULL and self._gpus.value < WAITING:
                self._bad += 1
                self._activity += self._gpus.value
                self._last = point
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        if self._last is None or self._bad <= LEAST_SHARE * self._bins or self._bad * self._bin_s < LEAST_S:
            return None
        text = f"CPU at {FULL:.0f} % or more with GPUs below {WAITING:.0f} % in {self._bad} of {self._bins} bins"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, share=f"{100 * self._bad / self._bins:.0f}",
            gpu=f"{self._activity / self._bad:.0f}", **place(self._last, text),
        )  # fmt: skip

"""Judges busy-at-low-power (PRF015), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import gpu_of, place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: percent of the power limit that is little; seconds and share of the run that are worth a word
LOW, LEAST_S, LEAST_SHARE = 30.0, 120.0, 0.10


@rule(PROBLEM, needs=("usage/bin_s", "usage/activity_pct", "gpu/*/busy_power_pct"))
class BusyAtLowPower:
    """Counts the bins in which a card was busy throughout and drew little power."""

    wants = ("gpus", "power")

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._bins_of_run = 0
        self._bins: dict[str, int] = {}
        self._sum: dict[str, float] = {}
        self._first: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take one bin in; the power of a card comes only for bins in which it was busy throughout."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name == "usage/activity_pct":
            self._bins_of_run += 1
        elif point.name.endswith("/busy_power_pct") and point.value < LOW:
            gpu = gpu_of(point.name)
            self._bins[gpu] = self._bins.get(gpu, 0) + 1
            self._sum[gpu] = self._sum.get(gpu, 0.0) + point.value
            self._first.setdefault(gpu, point)
        return None

    def finish(self) -> Optional[Finding]:
        """The card that was so for longest, if for long enough."""
        if not self._bins:
            return None
        gpu = max(self._bins, key=lambda each: self._bins[each])
        bins = self._bins[gpu]
        if bins * self._bin_s < LEAST_S or bins < LEAST_SHARE * self._bins_of_run:
            return None
        power = f"{self._sum[gpu] / bins:.0f}"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, gpu=gpu, power=power, minutes=f"{bins * self._bin_s / 60:.0f}",
            **place(self._first[gpu], f"busy throughout at {power} % of the power limit"),
        )  # fmt: skip

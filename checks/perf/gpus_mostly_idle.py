"""Judges gpus-mostly-idle (PRF013), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import gpu_of, place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


IDLE, LEAST_SHARE, LEAST_S = 5.0, 0.5, 600.0


@rule(PROBLEM, needs=("usage/bin_s", "gpu/*/activity_pct"))
class GpusMostlyIdle:
    """Counts idle bins a GPU."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._bins: dict[str, int] = {}
        self._idle: dict[str, int] = {}
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one bin of one GPU in."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name.endswith("/activity_pct") and "MIG" not in point.name:
            gpu = gpu_of(point.name)
            self._bins[gpu] = self._bins.get(gpu, 0) + 1
            self._idle[gpu] = self._idle.get(gpu, 0) + (point.value < IDLE)
            self._last = point
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        total, idle = sum(self._bins.values()), sum(self._idle.values())
        if self._last is None or idle <= LEAST_SHARE * total or max(self._bins.values()) * self._bin_s < LEAST_S:
            return None
        worst = max(self._bins, key=lambda gpu: self._idle[gpu] / self._bins[gpu])
        where = self._last._replace(name="usage")
        return found(
            PROBLEM, MESSAGE, share=f"{100 * idle / total:.0f}", hours=f"{idle * self._bin_s / 3600:.1f}",
            gpus=len(self._bins), worst=worst, most=f"{100 * self._idle[worst] / self._bins[worst]:.0f}",
            **place(where, f"{idle} of {total} bins below {IDLE:.0f} %"),
        )  # fmt: skip

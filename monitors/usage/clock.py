"""The clock of one sampled host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """A host's clock: the offset that was largest during the run, the error of the worst comparison that was used."""

    offset_s: float
    error_s: float
    moved: bool  # whether the figures were moved by it: an offset within its own error is none

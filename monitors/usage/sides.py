"""Two groups of GPUs that take turns, told by their activity alone: of a foreign CSV nobody knows what ran on them."""

from __future__ import annotations

from typing import Any

from doctor.monitors.usage.judged import IDLE_PCT, Grid
from doctor.monitors.usage.tracks import GpuKey, Usage

#: correlation of two GPUs' working bins from which they work together, and below which (negated) they take turns
_ALIKE = 0.5
#: bins in which both figures are told, of which a correlation is made, and cards that are compared
_FEWEST_BINS, _MOST_CARDS = 20, 512


def sides(usage: Usage, grid: Grid) -> tuple[list[GpuKey], list[GpuKey]]:
    """The GPUs that work together with the first and those that work while it rests; both empty where one is unclear.

    Only where no process with a role was seen: roles say more.
    """
    keys = [key for key in grid.activity if key.mig is None]
    if usage.gpu_roles or not 2 <= len(keys) <= _MOST_CARDS:
        return [], []
    together, against = keys[:1], keys[:0]
    for key in keys[1:]:
        value = _correlation(grid.activity[keys[0]], grid.activity[key])
        if value is None or -_ALIKE < value < _ALIKE:
            return [], []
        (together if value > 0 else against).append(key)
    return (together, against) if against else ([], [])


def _correlation(one: Any, other: Any) -> float | None:
    """Of "works" and "rests" of two GPUs, bin by bin; None where one of them never changes."""
    import numpy as np

    told = ~(np.isnan(one) | np.isnan(other))
    if told.sum() < _FEWEST_BINS:
        return None
    a, b = (one[told] >= IDLE_PCT).astype(float), (other[told] >= IDLE_PCT).astype(float)
    if a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])

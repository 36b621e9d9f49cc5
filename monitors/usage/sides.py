"""Two groups of GPUs that take turns, told by their activity alone: of a foreign CSV nobody knows what ran on them."""

from __future__ import annotations

import math

from doctor.monitors.usage.judged import IDLE_PCT
from doctor.monitors.usage.numbers import Grid, Row
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


def _correlation(one: Row, other: Row) -> float | None:
    """Of "works" and "rests" of two GPUs, bin by bin; None where one of them never changes.

    Of two series of zeros and ones it is the phi coefficient.
    """
    both = [(a >= IDLE_PCT, b >= IDLE_PCT) for a, b in zip(one, other, strict=True) if a == a and b == b]  # noqa: PLR0124
    if len(both) < _FEWEST_BINS:
        return None
    count = len(both)
    first, second = sum(a for a, _ in both), sum(b for _, b in both)
    spread = first * (count - first) * second * (count - second)
    if not spread:
        return None
    return (count * sum(a and b for a, b in both) - first * second) / math.sqrt(spread)

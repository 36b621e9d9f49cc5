"""Which GPUs work side by side, and how far each is from the median of the others, bin by bin."""

from __future__ import annotations

import math
from statistics import fmean, median

from doctor.monitors.usage.files import SERVER_ROLES
from doctor.monitors.usage.numbers import NAN, Grid, Row, row_median, told
from doctor.monitors.usage.tracks import GpuKey, Usage

#: GPUs that make a median; cards for which it is told; mean points of departure that are worth telling
FEWEST, MANY, MOST_TOLD, LEAST_APART = 4, 64, 32, 5.0
#: cards that the rules look at one by one; where there are more, those that differ most and some that do not
MOST_WATCHED, ORDINARY = 256, 32


def groups(usage: Usage, grid: Grid) -> list[list[GpuKey]]:
    """Whole cards by what runs on them: trainers, vLLM's, others."""
    found: dict[tuple[bool, bool], list[GpuKey]] = {}
    for key in grid.activity:
        if key.mig is None:
            roles = {role for role, _ in usage.gpu_roles.get(key, ())}
            found.setdefault(("trainer" in roles, bool(roles & SERVER_ROLES)), []).append(key)
    return [keys for keys in found.values() if len(keys) >= FEWEST]


def medians(usage: Usage, grid: Grid) -> dict[GpuKey, tuple[int, list[float]]]:
    """Card that departs -> number of its peers, and their median in each bin; NaN where nothing is told."""
    found: dict[GpuKey, tuple[int, list[float]]] = {}
    for keys in groups(usage, grid):
        table = [grid.activity[key] for key in keys]
        middle = row_median(table)
        apart = [_apart(row, middle) for row in table]
        for number in sorted(range(len(keys)), key=lambda each: -apart[each])[:MOST_TOLD]:
            if apart[number] >= LEAST_APART:
                # of many, one more or less moves no median
                others = middle if len(keys) > MANY else row_median([*table[:number], *table[number + 1 :]])
                found[keys[number]] = (len(keys) - 1, others)
    return found


def _apart(row: Row, middle: Row) -> float:
    """Mean distance over all bins; where nothing is told there is none."""
    return math.fsum(told(abs(a - b) for a, b in zip(row, middle, strict=True))) / max(1, len(row))


def watched(usage: Usage, grid: Grid) -> list[GpuKey]:
    """Cards that the rules look at one by one: all, or of many those that differ most and some ordinary ones."""
    keys = list(usage.gpus)
    if len(keys) <= MOST_WATCHED:
        return keys
    figures = ("sm_clock_mhz", "memory_used_mib", "power_w", "temperature_c")
    columns = [[_mean(grid.activity.get(key, ())) for key in keys]]
    columns += [[_mean(usage.gpus[key][name].v if name in usage.gpus[key] else ()) for key in keys] for name in figures]
    apart = [0.0] * len(keys)
    for column in columns:
        if kept := told(column):
            middle = median(kept)
            for number, value in enumerate(column):
                distance = abs(value - middle) / max(abs(middle), 1.0)
                apart[number] = max(apart[number], distance if distance == distance else 0.0)  # noqa: PLR0124 - NaN
    order = sorted(range(len(keys)), key=lambda each: -apart[each])
    chosen = {*order[: MOST_WATCHED - ORDINARY], *order[len(order) - ORDINARY :]}
    return [key for number, key in enumerate(keys) if number in chosen]


def _mean(values: Row) -> float:
    kept = told(values)
    return fmean(kept) if kept else NAN

"""Which GPUs work side by side, and how far each is from the median of the others, bin by bin. Needs numpy."""

from __future__ import annotations

from typing import Any

from doctor.monitors.usage.files import SERVER_ROLES
from doctor.monitors.usage.judged import Grid
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


def medians(usage: Usage, grid: Grid) -> dict[GpuKey, tuple[int, Any]]:
    """Card that departs -> number of its peers, and their median in each bin; NaN where nothing is told."""
    import numpy as np

    found: dict[GpuKey, tuple[int, Any]] = {}
    for keys in groups(usage, grid):
        table = np.array([grid.activity[key] for key in keys])
        middle = _median(table)
        apart = np.nan_to_num(np.abs(np.nan_to_num(table - middle)).mean(axis=1))
        for number in np.argsort(-apart, kind="stable")[:MOST_TOLD].tolist():
            if apart[number] >= LEAST_APART:
                # of many, one more or less moves no median
                others = middle if len(keys) > MANY else _median_of_others(table, number)
                found[keys[number]] = (len(keys) - 1, others)
    return found


def _median(table: Any) -> Any:
    """Of what is told in each bin; NaN where nothing is."""
    import numpy as np

    told = ~np.isnan(table).all(axis=0)
    found = np.full(table.shape[1], np.nan)
    found[told] = np.nanmedian(table[:, told], axis=0)
    return found


def _median_of_others(table: Any, number: int) -> Any:
    import numpy as np

    return _median(np.delete(table, number, axis=0))


def watched(usage: Usage, grid: Grid) -> list[GpuKey]:
    """Cards that the rules look at one by one: all, or of many those that differ most and some ordinary ones."""
    import numpy as np

    keys = list(usage.gpus)
    if len(keys) <= MOST_WATCHED:
        return keys
    figures = ("sm_clock_mhz", "memory_used_mib", "power_w", "temperature_c")
    columns = [[_mean(grid.activity.get(key)) for key in keys]]
    columns += [[_mean(usage.gpus[key][name].v) if name in usage.gpus[key] else np.nan for key in keys]
                for name in figures]  # fmt: skip
    table = np.array(columns)
    told = ~np.isnan(table).all(axis=1)
    middle = np.nanmedian(table[told], axis=1, keepdims=True)
    apart = np.nanmax(np.abs(table[told] - middle) / np.maximum(np.abs(middle), 1.0), axis=0)
    order = np.argsort(-np.nan_to_num(apart), kind="stable").tolist()
    chosen = {*order[: MOST_WATCHED - ORDINARY], *order[len(order) - ORDINARY :]}
    return [key for number, key in enumerate(keys) if number in chosen]


def _mean(values: Any) -> float:
    import numpy as np

    return float(np.nanmean(values)) if values is not None and not np.isnan(values).all() else float("nan")

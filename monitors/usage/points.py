"""The coarse series of a run for the rules: one point a bin and figure (names: `doctor.catalogue.usage_rules`)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from statistics import median

from doctor.catalogue.series import Point
from doctor.monitors.usage.judged import Summary, groups
from doctor.monitors.usage.numbers import NAN, Grid, binned, row_mean
from doctor.monitors.usage.peers import medians, watched
from doctor.monitors.usage.sides import sides
from doctor.monitors.usage.tracks import GpuKey, Track, Usage

#: phases in which an engine that sleeps is awake or sleeps
_STATES = {"generation": "awake", "update": "asleep"}
#: mean of the busy figure in a bin that counts as all of it
BUSY_PCT = 95.0


def points(usage: Usage, summary: Summary) -> Iterator[Point]:
    """Points in order of time."""
    grid = summary.grid
    compared = medians(usage, grid)
    series = _series(usage, grid, compared)
    yield Point("usage/bin_s", grid.width_s, 0, int(grid.begin_s * 1e9), source=usage.name)
    seldom = _engines(usage, summary)
    for key, (peers, _) in compared.items():
        yield Point(f"gpu/{usage.label(key)}/peers", peers, 0, int(grid.begin_s * 1e9), source=usage.name)
    for key in watched(usage, grid):
        if "power_limit_w" in usage.gpus[key]:
            limit = float(median(usage.gpus[key]["power_limit_w"].v))
            yield Point(f"gpu/{usage.label(key)}/power_limit_w", limit, 0, int(grid.begin_s * 1e9), source=usage.name)
    phases = _phase_of_bins(summary) if compared else {}
    series += [(f"gpu/{usage.label(key)}/peers_pct", others) for key, (_, others) in compared.items()]
    for side, keys in zip(("one", "other"), sides(usage, grid), strict=True):
        if keys:
            yield Point(f"sides/{side}/gpus", len(keys), 0, int(grid.begin_s * 1e9), source=usage.name)
            series.append((f"sides/{side}/activity_pct", row_mean([grid.activity[key] for key in keys])))
    for moment, name, value in _link_errors(usage):
        seldom.setdefault(_bin(grid, moment), []).append((name, value))
    for number in range(grid.count):
        t_ns = int((grid.begin_s + number * grid.width_s) * 1e9)
        if number in phases:
            yield Point(f"usage/phase/{phases[number]}", 1.0, number, t_ns, source=usage.name)
        for name, values in series:
            value = values[number]
            if not math.isnan(value):
                yield Point(name, value, number, t_ns, source=usage.name)
        for name, value in seldom.get(number, ()):
            yield Point(name, value, number, t_ns, source=usage.name)


def _phase_of_bins(summary: Summary) -> dict[int, str]:
    """Number of a bin -> the phase in which all of it lies, as the run marked them."""
    grid, found = summary.grid, {}
    for each in summary.stretches if summary.phases_from == "marks" else ():
        first = math.ceil((each.begin_s - grid.begin_s) / grid.width_s)
        last = math.floor((each.end_s - grid.begin_s) / grid.width_s)
        found.update(dict.fromkeys(range(max(0, first), min(grid.count, last)), each.name))
    return found


def _series(usage: Usage, grid: Grid, compared: Iterable[GpuKey]) -> list[tuple[str, list[float]]]:
    """Name and value of each bin; the activity of a GPU stands before its other figures."""
    found: list[tuple[str, list[float]]] = []
    for key in dict.fromkeys([*watched(usage, grid), *compared]):
        figures = usage.gpus[key]
        begin = f"gpu/{usage.label(key)}"
        if key in grid.activity:
            found.append((f"{begin}/activity_pct", grid.activity[key]))
        told = [name for name in ("sm_clock_mhz", "memory_used_mib") if name in figures]
        found += [(f"{begin}/{name}", binned(figures[name], grid)) for name in told]
        if {"gpu_busy_pct", "power_w", "power_limit_w"} <= set(figures):
            found.append((f"{begin}/busy_power_pct", _power_when_busy(figures, grid)))
    trainers, servers = groups(usage)
    for role, keys in (("trainer", trainers), ("server", servers)):
        if keys:
            found.append(
                (f"role/{role}/activity_pct", row_mean([grid.activity[each] for each in keys if each in grid.activity]))
            )
    if whole := [values for key, values in grid.activity.items() if key.mig is None]:
        found.append(("usage/activity_pct", row_mean(whole)))
    if len(usage.hosts) == 1:
        (figures,) = usage.hosts.values()
        of_host = [name for name in ("cpu_pct", "memory_used_mib", "shm_used_mib") if name in figures]
        found += [(f"host/{name}", binned(figures[name], grid)) for name in of_host]
    return found


def _bin(grid: Grid, at_s: float) -> int:
    """Number of the bin of a moment; what is told before the first or after the last figure belongs to that one."""
    return min(max(0, int((at_s - grid.begin_s) / grid.width_s)), grid.count - 1)


def _link_errors(usage: Usage) -> Iterator[tuple[float, str, float]]:
    """(time, name, value) of what was new on NVLinks, as the sampler's events tell."""
    for event in usage.events:
        data = event["data"]
        if event["kind"] == "gpu" and data.get("what") == "nvlink":
            label = usage.label(GpuKey(str(event.get("host")), int(data["gpu"])))
            for link, kind, count in data["errors"]:
                figure, value = ("crc_per_s", count / max(1.0, data["seconds"])) if kind == "crc" else (kind, count)
                yield event["t_ns"] / 1e9, f"gpu/{label}/nvlink_{link}_{figure}", float(value)


def _engines(usage: Usage, summary: Summary) -> dict[int, list[tuple[str, float]]]:
    """Bin -> memory of vLLM's own processes, as often as it was sampled, told apart by whether it should sleep then.

    Where the run marked both phases they say so, else each sample is above or below the middle of its process.
    """
    found: dict[int, list[tuple[str, float]]] = {}
    marks = summary.stretches if {each.name for each in summary.stretches} >= set(_STATES) else []
    begins = [each.begin_s for each in marks]
    for (key, pid), track in usage.engines.items():
        middle = (min(track.v) + max(track.v)) / 2
        for at_s, mib in zip(track.t, track.v, strict=True):
            state: str | None = "awake" if mib > middle else "asleep"
            if marks:
                phase = marks[max(0, bisect_right(begins, at_s) - 1)]
                state = _STATES.get(phase.name) if phase.begin_s <= at_s < phase.end_s else None
            if state is not None:
                found.setdefault(_bin(summary.grid, at_s), []).append(
                    (f"gpu/{usage.label(key)}/vllm_{pid}_{state}_mib", mib)
                )
    return found


def _power_when_busy(figures: dict[str, Track], grid: Grid) -> list[float]:
    """Percent of the power limit in the bins in which the busy figure says that the card worked throughout."""
    limit = float(median(figures["power_limit_w"].v))
    if limit <= 0:
        return [NAN] * grid.count
    busy, power = binned(figures["gpu_busy_pct"], grid), binned(figures["power_w"], grid)
    return [100 * watts / limit if share >= BUSY_PCT else NAN for share, watts in zip(busy, power, strict=True)]

"""Two runs compared part by part: the whole, each phase, each GPU or node; what differs by more than chance is marked.

What a figure varies by chance is taken from the run itself: the standard error of its mean over a dozen stretches of
the run, of a phase over its turns. A difference counts when it is more than three of its standard errors and worth a
word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from doctor.monitors.usage.judged import Summary
from doctor.monitors.usage.numbers import Grid, Row, binned, row_mean, told
from doctor.monitors.usage.tracks import GpuKey, Track, Usage

#: stretches of a run, turns of a phase that its chance is taken from, and standard errors that are no chance any more
STRETCHES, FEWEST, SURE = 12, 3, 3.0
#: differences that are worth a word: points of a share, and shares of everything else
LEAST_POINTS, LEAST_SHARE = 2.0, 0.03
#: figures of a GPU beside its activity; the first of those with a highest value alone
_MEANS = ("tensor_active_pct", "dram_active_pct", "power_w", "sm_clock_mhz")
_PEAKS = {"memory_used_mib": "memory_peak_mib", "temperature_c": "temperature_max_c"}


@dataclass(frozen=True)
class Figure:
    """A mean and its standard error; None: too little to tell it. `exact`: it has none, as a highest value."""

    mean: float
    error: float | None = None
    exact: bool = False


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of one part in both runs.

    Args:
        part: kind ("run", "phase", "gpu", "node") and name.
        figure: what it is.
        first: in the first run; second: in the other; None: not told there.
        noise: difference that chance explains; None: not known.
        changed: whether they differ by more; None: nobody can tell.

    """

    part: tuple[str, str]
    figure: str
    first: float | None
    second: float | None
    noise: float | None = None
    changed: bool | None = None


Parts = dict[tuple[str, str], dict[str, Figure]]


def compare(first: tuple[Usage, Summary], second: tuple[Usage, Summary]) -> list[ComparedFigure]:
    """All figures of all parts that either run has, those of a part together."""
    one, other = parts(*first), parts(*second)
    return [
        _difference(part, figure, one.get(part, {}).get(figure), other.get(part, {}).get(figure))
        for part in dict.fromkeys([*one, *other])
        for figure in dict.fromkeys([*one.get(part, {}), *other.get(part, {})])
    ]


def _difference(part: tuple[str, str], name: str, one: Figure | None, other: Figure | None) -> ComparedFigure:
    if one is None or other is None:
        return ComparedFigure(part, name, one.mean if one else None, other.mean if other else None)
    apart = abs(other.mean - one.mean)
    least = LEAST_POINTS if name.endswith("_pct") else LEAST_SHARE * max(abs(one.mean), abs(other.mean))
    if one.exact and other.exact:
        return ComparedFigure(part, name, one.mean, other.mean, None, apart > least)
    if one.error is None or other.error is None:
        return ComparedFigure(part, name, one.mean, other.mean)
    noise = SURE * math.hypot(one.error, other.error)
    return ComparedFigure(part, name, one.mean, other.mean, noise, apart > max(noise, least))


def parts(usage: Usage, summary: Summary) -> Parts:
    """Figures of each part of a run."""
    grid = summary.grid
    cards = [key for key in usage.gpus if key.mig is None]
    found: Parts = {("run", ""): _of_run(grid, [grid.activity[key] for key in cards if key in grid.activity])}
    found.update(_of_phases(summary, cards))
    if usage.several_hosts:
        for host in sorted({key.host for key in cards}):
            found["node", host] = _together([_of_gpu(usage, key, grid) for key in cards if key.host == host])
    else:
        for key in sorted(cards, key=lambda each: each.index):
            found["gpu", key.label] = _of_gpu(usage, key, grid)
    return found


def _of_run(grid: Grid, rows: Sequence[Row]) -> dict[str, Figure]:
    if not rows:
        return {}
    return _only({"activity_pct": _of_stretches(row_mean(rows)), "seconds": Figure(grid.width_s * grid.count)})


def _of_phases(summary: Summary, cards: Sequence[GpuKey]) -> Iterator[tuple[tuple[str, str], dict[str, Figure]]]:
    """Seconds and activity of a turn of each phase that the run marked, and its share of the run."""
    if summary.phases_from != "marks":
        return
    grid = summary.grid
    rows = [grid.activity[key] for key in cards if key in grid.activity]
    for phase in summary.phases:
        turns = [each for each in summary.stretches if each.name == phase.name]
        active = []
        for turn in turns:
            first = math.ceil((turn.begin_s - grid.begin_s) / grid.width_s)
            within = slice(max(0, first), max(0, int((turn.end_s - grid.begin_s) / grid.width_s)))
            inside = [value for row in rows for value in told(row[within])]
            if inside:
                active.append(fmean(inside))
        yield ("phase", phase.name), _only({
            "seconds_a_turn": _mean([turn.end_s - turn.begin_s for turn in turns]),
            "activity_pct": _mean(active), "share_pct": Figure(100 * phase.share),
        })  # fmt: skip


def _of_gpu(usage: Usage, key: GpuKey, grid: Grid) -> dict[str, Figure]:
    figures = usage.gpus[key]
    found = {"activity_pct": _of_stretches(grid.activity[key])} if key in grid.activity else {}
    for name in _MEANS:
        if name in figures:
            windows = figures.get("sm_window_s") if name.endswith("active_pct") else None
            found[name] = _of_stretches(binned(figures[name], grid, windows=windows))
    found.update((name, _highest(figures[column])) for column, name in _PEAKS.items() if column in figures)
    return _only(found)


def _highest(track: Track) -> Figure:
    return Figure(float(max(track.v)), exact=True)


def _together(cards: Sequence[dict[str, Figure]]) -> dict[str, Figure]:
    """Figures of a node: means of its cards, which stand and fall together; the highest of their highest."""
    found = {}
    for name in dict.fromkeys(name for card in cards for name in card):
        each = [card[name] for card in cards if name in card]
        if each[0].exact:
            found[name] = Figure(max(one.mean for one in each), exact=True)
            continue
        errors = [one.error for one in each if one.error is not None]
        mean = sum(one.mean for one in each) / len(each)
        found[name] = Figure(mean, sum(errors) / len(errors) if len(errors) == len(each) else None)
    return found


def _of_stretches(values: Row) -> Figure | None:
    """Mean of a series and its error, from a dozen stretches of it; None where nothing is told."""
    kept = told(values)
    if not kept:
        return None
    # the first stretches are one longer where the dozen does not divide them
    length, longer = divmod(len(kept), STRETCHES)
    edges = [number * length + min(number, longer) for number in range(STRETCHES + 1)]
    pieces = [fmean(kept[a:b]) for a, b in pairwise(edges) if b > a]
    error = _mean(pieces)
    return Figure(fmean(kept), error.error if error is not None and len(pieces) == STRETCHES else None)


def _mean(values: Sequence[float]) -> Figure | None:
    if not values:
        return None
    mean = sum(values) / len(values)
    if len(values) < FEWEST:
        return Figure(mean)
    variance = sum((each - mean) ** 2 for each in values) / (len(values) - 1)
    return Figure(mean, math.sqrt(variance / len(values)))


def _only(figures: dict[str, Figure | None]) -> dict[str, Figure]:
    return {name: figure for name, figure in figures.items() if figure is not None}

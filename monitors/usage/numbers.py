"""Arithmetic over the figures of a run: means over time, and equal bins.

In plain Python, so that a report needs nothing but the doctor; long tracks go through numpy where it is installed,
which is faster and adds in another order: figures agree to far more digits than a report shows.

A figure is a mean over its window where it says so (`sm_window_s`), else it holds until the next one, at most HOLD_S.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from statistics import fmean, median
from typing import Any

from doctor.monitors.usage.tracks import GpuKey, Track

#: a figure that does not come again is not believed for longer (dcgm-exporter asks every 30 s as shipped)
HOLD_S = 60.0
#: values from which a track is worth importing numpy for
LONG = 50_000

NAN = float("nan")
#: a value for each bin, NaN where nothing is told
Row = Sequence[float]


@dataclass
class Grid:
    """The run cut into equal bins: `begin_s` of the first, `width_s`, and activity per GPU (NaN: not told)."""

    begin_s: float
    width_s: float
    count: int
    activity: dict[GpuKey, list[float]] = field(default_factory=dict)


def is_fast(length: int) -> bool:
    """Whether numpy is installed and so many values are worth it."""
    return length >= LONG and find_spec("numpy") is not None


def weights(track: Track, windows: Track | None) -> Sequence[float]:
    """Seconds that each value stands for."""
    if _fit(track, windows):
        return windows.v  # type: ignore[union-attr]
    if len(track.t) < 2:
        return [1.0] * len(track.t)
    gaps = [later - earlier for earlier, later in zip(track.t, track.t[1:], strict=False)]
    return [min(each, HOLD_S) for each in (*gaps, median(gaps))]


def _fit(track: Track, windows: Track | None) -> bool:
    """Whether the windows are those of these values."""
    return windows is not None and len(windows.v) == len(track.v) and (windows.t is track.t or windows.t == track.t)


def mean(track: Track | None, windows: Track | None = None) -> float | None:
    """Mean over time."""
    if track is None or not len(track.v):
        return None
    if is_fast(len(track.v)):
        return _mean_fast(track, windows)
    weight = weights(track, windows)
    total = math.fsum(weight)
    summed = math.fsum(value * each for value, each in zip(track.v, weight, strict=True))
    return summed / total if total else fmean(track.v)


def _mean_fast(track: Track, windows: Track | None) -> float:
    values, weight = _array(track.v), _weights_fast(track, windows)
    total = float(weight.sum())
    return float((values * weight).sum() / total) if total else float(values.mean())


def _array(values: Any) -> Any:
    """The values as numpy's, of double precision."""
    import numpy as np

    told = np.frombuffer(values, dtype=values.typecode) if isinstance(values, array) else np.asarray(values)
    return told.astype("float64")


def _weights_fast(track: Track, windows: Track | None) -> Any:
    import numpy as np

    if _fit(track, windows):
        return _array(windows.v)  # type: ignore[union-attr]
    gaps = np.diff(_array(track.t))
    return np.minimum(np.append(gaps, np.median(gaps)), HOLD_S)


def binned(track: Track, grid: Grid, windows: Track | None = None) -> list[float]:
    """Mean of a figure in each bin; NaN where nothing is told. A value spreads over the time that it stands for."""
    before = windows is not None or len(track.t) < 2
    if is_fast(len(track.v)):
        total, weight = _sums_fast(track, grid, _weights_fast(track, windows), before=before)
    else:
        total, weight = _sums(track, grid, weights(track, windows), before=before)
    return [summed / each if each > 0 else NAN for summed, each in zip(total, weight, strict=True)]


def _sums(
    track: Track, grid: Grid, seconds: Sequence[float], *, before: bool
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Value times seconds, and seconds, of each bin."""
    begin_s, width_s, end = grid.begin_s, grid.width_s, grid.count - 1
    total, weight = [0.0] * grid.count, [0.0] * grid.count
    for at, stands_for, value in zip(track.t, seconds, track.v, strict=True):
        start = at - stands_for if before else at
        stop = start + stands_for
        first = min(max(int((start - begin_s) / width_s), 0), end)
        last = min(max(int((stop - 1e-9 - begin_s) / width_s), 0), end)
        for number in range(first, max(first, last) + 1):
            low = begin_s + number * width_s
            part = min(stop, begin_s + (number + 1) * width_s) - max(start, low)
            if part > 0:
                total[number] += part * value
                weight[number] += part
    return total, weight


def _sums_fast(track: Track, grid: Grid, seconds: Any, *, before: bool) -> tuple[list[float], list[float]]:
    import numpy as np

    times = _array(track.t)
    starts = times - seconds if before else times
    ends = starts + seconds
    first = np.clip(((starts - grid.begin_s) / grid.width_s).astype(int), 0, grid.count - 1)
    last = np.clip(((ends - 1e-9 - grid.begin_s) / grid.width_s).astype(int), 0, grid.count - 1)
    total, weight = np.zeros(grid.count), np.zeros(grid.count)
    bins, values = first, _array(track.v)
    while len(bins):
        low = np.maximum(starts, grid.begin_s + bins * grid.width_s)
        part = np.maximum(np.minimum(ends, grid.begin_s + (bins + 1) * grid.width_s) - low, 0.0)
        total += np.bincount(bins, part * values, grid.count)
        weight += np.bincount(bins, part, grid.count)
        on = bins < last  # few reach into the next bin
        starts, ends, values, last, bins = starts[on], ends[on], values[on], last[on], bins[on] + 1
    return total.tolist(), weight.tolist()


def told(values: Iterable[float]) -> list[float]:
    """The values that are some."""
    return [value for value in values if value == value]  # noqa: PLR0124 - NaN: not told


def row_mean(rows: Sequence[Row]) -> list[float]:
    """Mean over the rows of what is told in each bin; NaN where nothing is."""
    return [fmean(kept) if (kept := told(column)) else NAN for column in zip(*rows, strict=True)]


def row_median(rows: Sequence[Row]) -> list[float]:
    """Median over the rows of what is told in each bin; NaN where nothing is."""
    return [median(kept) if (kept := told(column)) else NAN for column in zip(*rows, strict=True)]


def between(at: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Linear between points in ascending order; beyond the ends as at the ends."""
    place = bisect_right(xs, at)
    if place == 0 or place == len(xs):
        return ys[0] if place == 0 else ys[-1]
    share = (at - xs[place - 1]) / (xs[place] - xs[place - 1])
    return ys[place - 1] + share * (ys[place] - ys[place - 1])

"""The metric time line of a run in bounded memory: extremes, beginnings, and points enough for a plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Optional

from doctor.catalogue.columns import Column
from doctor.catalogue.series import Point
from doctor.logs.read.figures import Bucket, buckets_of

#: points kept of a metric for a plot
MOST_POINTS = 2000

#: metrics of which a time line is kept; more are no metrics but text that looks like one
MOST_METRICS = 500

#: points kept of one bucket: its first, smallest, greatest and last
_OF_A_BUCKET = 4

#: values that wait to be put into buckets: few of all metrics are ever drawn, and together it takes less
_MOST_WAITING = 1024


Wanted = Callable[[str], bool]


class Extreme(NamedTuple):
    """A value and the step where it stood; of values without a step, their count stands for it."""

    value: float
    step: Optional[int]


class Series:
    """One metric: count, first, last, least and greatest value, first NaN and infinity, and points for a plot.

    Points are kept in buckets of equal length, each with its first, least, greatest and last value, so that no spike is
    lost; when the buckets are used up, two neighbours become one. Values wait until they are many, or asked for.
    """

    __slots__ = (
        "_buckets", "_left", "_places", "_values", "_width", "count", "first", "first_inf", "first_nan",
        "last_step", "last_value", "name",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.first: Optional[Extreme] = None
        self.last_value = math.nan
        self.last_step: Optional[int] = None
        self.first_nan: Optional[int] = None
        self.first_inf: Optional[int] = None
        self._width = 1
        self._left = 0
        self._buckets: list[Bucket] = []
        self._places: list[int] = []
        self._values: list[float] = []

    def add(self, step: Optional[int], value: float) -> None:
        """Take a value in; the position of one without a step is its count."""
        self.count += 1
        if self.first is None:
            self.first = Extreme(value, step)
        self.last_value, self.last_step = value, step
        if value - value != 0:
            self._not_finite(value, self.count if step is None else step)
            return
        self._places.append(self.count if step is None else step)
        self._values.append(value)
        if len(self._places) >= _MOST_WAITING:
            self._fold()

    def extend(self, column: Column) -> None:
        """Take many values in; as `add` with each."""
        if not column.finite:
            for step, value in zip(column.steps, column.values, strict=True):
                self.add(step, value)
            return
        values, steps = column.values, column.steps
        places: Sequence[int] = (
            [self.count + number if step is None else step for number, step in enumerate(steps, 1)]
            if None in steps
            else steps  # type: ignore[assignment]
        )
        self.count += len(values)
        if self.first is None:
            self.first = Extreme(values[0], steps[0])
        self.last_value, self.last_step = values[-1], steps[-1]
        self._places += places
        self._values += values
        if len(self._places) >= _MOST_WAITING:
            self._fold()

    def _fold(self) -> None:
        """Put the values that wait into buckets."""
        if self._places:
            places, values = self._places, self._values
            self._places, self._values = [], []
            self._put(places, values)

    def _put(self, places: list[int], values: list[float]) -> None:
        self._make_room(len(values))
        at = min(self._left, len(values))
        if at:
            self._buckets[-1] = _joined(self._buckets[-1], buckets_of(places[:at], values[:at], 0, at)[0])
            self._left -= at
        new = buckets_of(places, values, at, self._width)
        if new:
            self._buckets += new
            self._left = at + len(new) * self._width - len(values)

    def _not_finite(self, value: float, step: int) -> None:
        if math.isnan(value):
            self.first_nan = step if self.first_nan is None else self.first_nan
        else:
            self.first_inf = step if self.first_inf is None else self.first_inf

    @property
    def last(self) -> Extreme:
        """The last value."""
        return Extreme(self.last_value, self.last_step)

    def _make_room(self, more: int) -> None:
        """Join neighbours until so many values more have their place in as many buckets as there may be."""
        while len(self._buckets) * self._width - self._left + more > MOST_POINTS // _OF_A_BUCKET * self._width:
            ones, twos = self._buckets[::2], self._buckets[1::2]
            merged = list(map(_joined, ones, twos))
            if len(ones) > len(twos):
                merged.append(ones[-1])
                self._left += self._width
            self._buckets = merged
            self._width *= 2

    def points(self) -> list[tuple[float, float]]:
        """(step, value) in order, at most MOST_POINTS; values that are NaN or infinite are left out."""
        self._fold()
        return [point for bucket in self._buckets for point in sorted({*zip(bucket[::2], bucket[1::2], strict=True)})]


def _joined(one: Bucket, two: Bucket) -> Bucket:
    """Two neighbours as one."""
    x, y, low_x, low, high_x, high, _, _ = one
    if two[3] < low:
        low_x, low = two[2], two[3]
    if two[5] > high:
        high_x, high = two[4], two[5]
    return x, y, low_x, low, high_x, high, two[6], two[7]


class Timeline:
    """All metrics of one run. `dropped` counts the points of metrics beyond MOST_METRICS."""

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}
        self.dropped = 0
        self.first_step: Optional[int] = None
        self.last_step: Optional[int] = None

    def add(self, point: Point, wanted: Optional[Wanted] = None) -> None:
        """Take a point in; see `add_columns`."""
        name, value, step, _, _, _ = point
        series = self._series(name, 1, wanted)
        if series is not None:
            series.add(step, value)
        if step is not None:
            if self.first_step is None:
                self.first_step = step
            self.last_step = step

    def add_columns(self, columns: Mapping[str, Column], wanted: Optional[Wanted] = None) -> None:
        """Take columns of one stretch in, whose steps do not go back.

        Args:
            columns: by their metrics.
            wanted: whether a metric may be drawn; of others only the steps are seen. None: every one may.

        """
        steps: list[int] = []
        for name, column in columns.items():
            series = self._series(name, len(column), wanted)
            if series is not None:
                series.extend(column)
            ends = (column.steps[0], column.steps[-1])
            steps += [step for step in (column.steps if None in ends else ends) if step is not None]
        if steps:
            self.first_step = min(steps) if self.first_step is None else self.first_step
            self.last_step = max(steps)

    def _series(self, name: str, count: int, wanted: Optional[Wanted]) -> Optional[Series]:
        """Where values of a metric go, None for nowhere; `count`: how many they are."""
        series = self.series.get(name)
        if series is None and (wanted is None or wanted(name)):
            if len(self.series) >= MOST_METRICS:
                self.dropped += count
                return None
            series = self.series[name] = Series(name)
        return series


def thinned(points: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """At most about `most` of the points: of each stretch its first, least, greatest and last, so that spikes stay."""
    if len(points) <= most:
        return list(points)
    width = -(-len(points) * _OF_A_BUCKET // most)
    stretches = (points[at : at + width] for at in range(0, len(points), width))
    return [
        point
        for each in stretches
        for point in sorted({each[0], min(each, key=_height), max(each, key=_height), each[-1]})
    ]


def _height(point: tuple[float, float]) -> float:
    return point[1]

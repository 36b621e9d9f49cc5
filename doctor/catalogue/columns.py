"""Rows of metrics, and stretches of rows column by column: what lets rules and time lines take hundreds at once.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import is_
from typing import NamedTuple, Optional

from doctor.catalogue.series import Point

#: rows of a stretch: beyond some hundreds nothing is gained, and memory is spent
MOST_ROWS = 1024

#: values of a stretch, for rows may be wide
MOST_VALUES = 32_768


class MetricRow(NamedTuple):
    """Values that were told together, with what they have in common; the rest is as in `Point`.

    Names stand once in a row; rows of one kind share one tuple of them.
    """

    step: Optional[int]
    names: tuple[str, ...]
    values: Sequence[float]
    t_ns: Optional[int] = None
    rank: Optional[int] = None
    source: str = ""


class Column:
    """The values of one metric, with their steps. `low` and `high` hold only where all of them are `finite`."""

    __slots__ = ("finite", "high", "low", "steps", "values")

    def __init__(self, steps: Sequence[Optional[int]], values: Sequence[float]) -> None:
        self.steps, self.values = steps, values
        self.finite = math.isfinite(sum(values))  # or finite values whose sum is not: the slow way is right for those
        self.low, self.high = (min(values), max(values)) if self.finite and values else (math.inf, -math.inf)

    @classmethod
    def known(
        cls, steps: Sequence[Optional[int]], values: Sequence[float], finite: bool, low: float, high: float
    ) -> Column:
        """A column of which all this is known already."""
        made = cls.__new__(cls)
        made.steps, made.values, made.finite, made.low, made.high = steps, values, finite, low, high
        return made

    def __len__(self) -> int:
        """How many values there are."""
        return len(self.values)


NO_VALUES = Column((), ())


class Stretch:
    """Rows that follow each other, of one rank, and with steps that do not go back."""

    def __init__(self, rows: Sequence[MetricRow]) -> None:
        self.rows = rows
        names = rows[0][1]
        self.alike = all(map(is_, [row[1] for row in rows], [names] * len(rows)))
        self._kinds: set[tuple[str, ...]] = set()  # names of rows, found when somebody asks
        self._parts: dict[frozenset[tuple[str, ...]], Stretch] = {}
        self.columns = self._of_one_kind(names) if self.alike else self._of_many_kinds()

    def __getitem__(self, name: str) -> Column:
        """The values of a metric; an empty column where no row tells it."""
        return self.columns.get(name, NO_VALUES)

    def points(self, names: Collection[str], rows: Optional[int] = None) -> Iterator[Point]:
        """Points of the metrics named, in order; of the last `rows` rows where that is given."""
        for row in self.rows if rows is None else self.rows[-rows:]:
            yield from points_of(row, names)

    def telling(self, names: Collection[str]) -> Stretch:
        """The rows that tell any of these metrics: a server's lines between a trainer's are nothing to its rules."""
        if self.alike:
            return self
        kinds = self._kinds = self._kinds or {row[1] for row in self.rows}
        wanted = frozenset(kind for kind in kinds if not set(kind).isdisjoint(names))
        if not wanted or len(wanted) == len(kinds):
            return self
        if wanted not in self._parts:
            self._parts[wanted] = self._part(wanted)
        return self._parts[wanted]

    def parted(self, at: int) -> tuple[Stretch, Stretch]:
        """The first `at` rows, of which there are more, and the others."""
        return Stretch(self.rows[:at]), Stretch(self.rows[at:])

    def _part(self, kinds: frozenset[tuple[str, ...]]) -> Stretch:
        """The rows of some kinds."""
        return Stretch([row for row in self.rows if row[1] in kinds])

    def numbered(self, _names: Collection[str]) -> Iterator[tuple[int, MetricRow]]:
        """All rows that tell any of these metrics, others perhaps between them, with their places in the stretch."""
        return enumerate(self.rows)

    def last(self, name: str) -> Point:
        """The last point of a metric that some row tells."""
        return next(point for row in reversed(self.rows) for point in points_of(row, (name,)))

    def _of_one_kind(self, names: tuple[str, ...]) -> dict[str, Column]:
        steps = [row[0] for row in self.rows]
        columns = zip(*[row[2] for row in self.rows])  # noqa: B905 - Python 3.9
        return {name: Column(steps, values) for name, values in zip(names, columns)}  # noqa: B905

    def _of_many_kinds(self) -> dict[str, Column]:
        steps: dict[str, list[Optional[int]]] = {}
        values: dict[str, list[float]] = {}
        for names, rows in groupby(self.rows, key=lambda row: row[1]):
            together = list(rows)
            told = [row[0] for row in together]
            for name, column in zip(names, zip(*[row[2] for row in together])):  # noqa: B905
                steps.setdefault(name, []).extend(told)
                values.setdefault(name, []).extend(column)
        return {name: Column(steps[name], values[name]) for name in values}


def points_of(row: MetricRow, names: Optional[Collection[str]] = None) -> Iterator[Point]:
    """The points of a row, in order; only of the metrics named, where some are."""
    step, own, values, t_ns, rank, source = row
    for name, value in zip(own, values):  # noqa: B905 - Python 3.9
        if names is None or name in names:
            yield Point(name, value, step, t_ns, rank, source)


def stretches(rows: Iterable[MetricRow]) -> Iterator[list[MetricRow]]:
    """Rows cut where the rank changes, where a step goes back, and where a stretch is long enough."""
    rows = iter(rows)
    together: list[MetricRow] = []
    last: Optional[int] = None
    count = 0
    while more := list(islice(rows, MOST_ROWS - len(together))):
        steps = [row[0] for row in more if row[0] is not None]
        values = sum(map(len, [row[1] for row in more]))
        if _go_on(more, steps, (together or more)[0][4], last) and count + values <= MOST_VALUES:
            together += more
            last, count = steps[-1] if steps else last, count + values
        else:
            for row in more:
                step = row[0]
                back = step is not None and last is not None and step < last
                if together and (back or row[4] != together[0][4] or count >= MOST_VALUES):
                    yield together
                    together, last, count = [], None, 0
                together.append(row)
                count += len(row[1])
                last = last if step is None else step
        if len(together) >= MOST_ROWS:
            yield together
            together, last, count = [], None, 0
    if together:
        yield together


def _go_on(rows: Sequence[MetricRow], steps: list[int], rank: Optional[int], last: Optional[int]) -> bool:
    """Whether rows are all of this rank, and none of their steps goes back behind the one before."""
    ranks = [row[4] for row in rows]
    return (
        ranks.count(rank) == len(ranks) and sorted(steps) == steps and (not steps or last is None or steps[0] >= last)
    )

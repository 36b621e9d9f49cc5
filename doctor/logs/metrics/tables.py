"""Metric lines that follow each other, kept as columns: rows and points are made of them only where somebody asks.

Nearly all rules judge columns (`doctor.catalogue.columns.Stretch`), and so does the time line. A row with its values,
its place and its points costs several times what its figures do.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress, repeat
from typing import Any, Union, overload

from doctor.base.record import record
from doctor.catalogue.columns import Column, MetricRow, Stretch
from doctor.logs.read.figures import column_of

_row: Any = partial(tuple.__new__, MetricRow)
#: of more rows it is quicker to make all than each by itself
_SOME = 32


def rows_by_kind(kinds: Sequence[tuple[str, ...]], kind: Sequence[int], values: Sequence[array[float]]) -> list[Any]:
    """The values of each line, as a tuple.

    Args:
        kinds: names of metrics.
        kind: of each line which of them it tells.
        values: of each kind the values of its lines, one after another.

    """
    rows = [zip(*[iter(own)] * len(names), strict=True) for names, own in zip(kinds, values, strict=True)]
    if len(kinds) == 1:
        return list(rows[0])
    return [next(rows[each]) for each in kind]


def values_at(
    kinds: Sequence[tuple[str, ...]], kind: Sequence[int], values: Sequence[array[float]], places: Iterable[int]
) -> list[array[float]]:
    """Of each kind the values of some of the lines; the other arguments are those of `rows_by_kind`."""
    kept = set(places)
    found = []
    for number, (names, own) in enumerate(zip(kinds, values, strict=True)):
        mine = [at in kept for at, each in enumerate(kind) if each == number]
        if all(mine):
            found.append(own)
            continue
        width, some = len(names), array("d")
        for place in compress(range(0, len(own), width), mine):
            some += own[place : place + width]
        found.append(some)
    return found


@record
class Table(Sequence[MetricRow]):
    """Rows of one log, each of which tells every metric once.

    Args:
        kinds, kind, values: see `rows_by_kind`.
        steps: one a row.
        times: likewise, None where no row has a time; `ranks`: likewise, None where all have the one `rank`.
        path: the log; `lines`: of each row its number there.

    """

    kinds: list[tuple[str, ...]]
    kind: list[int]
    values: list[array[float]]
    steps: list[int | None]
    times: list[int | None] | None
    ranks: list[int | None] | None
    rank: int | None
    path: str
    lines: list[int]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.lines)

    def __iter__(self) -> Iterator[MetricRow]:
        """Make all rows."""
        names = [self.kinds[each] for each in self.kind]
        values = rows_by_kind(self.kinds, self.kind, self.values)
        ranks = repeat(self.rank) if self.ranks is None else self.ranks
        places = [f"{self.path}:{line}" for line in self.lines]
        return map(_row, zip(self.steps, names, values, self.times or repeat(None), ranks, places))  # noqa: B905

    @overload
    def __getitem__(self, at: int) -> MetricRow: ...
    @overload
    def __getitem__(self, at: slice) -> list[MetricRow]: ...
    def __getitem__(self, at: Union[int, slice]) -> Union[MetricRow, list[MetricRow]]:
        """Make a row, or some of them."""
        if isinstance(at, slice):
            places = range(len(self))[at]
            return list(self)[at] if len(places) > _SOME else [self[each] for each in places]
        at = range(len(self))[at]
        kind = self.kind[at]
        names = self.kinds[kind]
        start = self.kind[:at].count(kind) * len(names)
        return MetricRow(
            self.steps[at], names, tuple(self.values[kind][start : start + len(names)]),
            None if self.times is None else self.times[at], self.rank if self.ranks is None else self.ranks[at],
            f"{self.path}:{self.lines[at]}",
        )  # fmt: skip

    @property
    def told(self) -> list[int]:
        """The kinds that some row is of, in the order of their first ones."""
        return list(dict.fromkeys(self.kind))

    @property
    def is_stretch(self) -> bool:
        """Whether all rows are of one rank and no step goes back."""
        steps = [each for each in self.steps if each is not None]
        return self.ranks is None and steps == sorted(steps)

    def only(self, wanted: frozenset[tuple[str, ...]]) -> Table:
        """The rows of some kinds."""
        places = self.places_of(wanted)

        def those(column: list[Any]) -> list[Any]:
            return [column[each] for each in places]

        return Table(
            self.kinds, those(self.kind), self.values, those(self.steps), self.times and those(self.times),
            self.ranks and those(self.ranks), self.rank, self.path, those(self.lines),
        )  # fmt: skip

    def part(self, start: int, end: int) -> Table:
        """The rows from one place up to another."""
        before, within = Counter(self.kind[:start]), Counter(self.kind[start:end])
        values = []
        for number, (names, own) in enumerate(zip(self.kinds, self.values, strict=True)):
            first = before[number] * len(names)
            values.append(own[first : first + within[number] * len(names)])
        return Table(
            self.kinds, self.kind[start:end], values, self.steps[start:end], self.times and self.times[start:end],
            self.ranks and self.ranks[start:end], self.rank, self.path, self.lines[start:end],
        )  # fmt: skip

    def places_of(self, wanted: frozenset[tuple[str, ...]]) -> list[int]:
        """Where rows of some kinds stand."""
        numbers = {number for number, names in enumerate(self.kinds) if names in wanted}
        return [at for at, kind in enumerate(self.kind) if kind in numbers]

    def columns(self) -> dict[str, Column]:
        """The values of each metric with their steps, in the order in which the rows tell them first."""
        found: dict[str, Column] = {}
        told = self.told
        for kind in told:
            names, values = self.kinds[kind], self.values[kind]
            steps = self.steps if len(told) == 1 else [
                step for step, own in zip(self.steps, self.kind, strict=True) if own == kind
            ]  # fmt: skip
            doubles, width = values.tobytes(), len(names)
            for place, name in enumerate(names):
                if name not in found:
                    found[name] = Column.known(steps, *column_of(doubles, place, width))
        for name in self._of_several_kinds(told):
            found[name] = self._merged(name)
        return found

    def _of_several_kinds(self, told: list[int]) -> set[str]:
        seen: set[str] = set()
        return {name for kind in told for name in self.kinds[kind] if name in seen or seen.add(name)}  # type: ignore[func-returns-value]

    def _merged(self, name: str) -> Column:
        """A metric that rows of several kinds tell, in the order of the rows."""
        own = {
            kind: iter(self.values[kind][names.index(name) :: len(names)])
            for kind, names in enumerate(self.kinds)
            if name in names
        }
        steps = [step for step, kind in zip(self.steps, self.kind, strict=True) if kind in own]
        return Column(steps, tuple([next(own[kind]) for kind in self.kind if kind in own]))


class TableStretch(Stretch):
    """The rows of a table, which is a stretch.

    Args:
        table: the rows.
        columns: of it, where they are known already.

    """

    def __init__(self, table: Table, columns: dict[str, Column] | None = None) -> None:
        self.rows = self._table = table
        self._kinds = {table.kinds[each] for each in table.told}
        self.alike = len(self._kinds) == 1
        self._parts = {}
        self.columns = table.columns() if columns is None else columns

    def numbered(self, names: Collection[str]) -> Iterator[tuple[int, MetricRow]]:
        """The rows that tell any of these metrics, with their places: only they are made."""
        wanted = frozenset(kind for kind in self._kinds if not set(kind).isdisjoint(names))
        if len(wanted) == len(self._kinds):
            return enumerate(self.rows)
        return zip(self._table.places_of(wanted), self._table.only(wanted), strict=True)

    def parted(self, at: int) -> tuple[Stretch, Stretch]:
        """The first `at` rows, of which there are more, and the others."""
        return TableStretch(self._table.part(0, at)), TableStretch(self._table.part(at, len(self._table)))

    def _part(self, kinds: frozenset[tuple[str, ...]]) -> Stretch:
        told = [names for each in self._table.told if (names := self._table.kinds[each]) in kinds]
        own = dict.fromkeys(name for names in told for name in names)
        shared = any(not own.keys().isdisjoint(names) for names in self._kinds - kinds)
        return TableStretch(self._table.only(kinds), None if shared else {name: self.columns[name] for name in own})

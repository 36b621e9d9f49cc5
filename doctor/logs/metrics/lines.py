"""Metric lines picked out of the one pass over a log: taken apart where they are found, kept small, read in order.

A range of a log is scanned by whichever process is free, but its metrics can only be judged behind those of the range
before it. So each range keeps its rows, packed; what does not fit into a little memory goes to a file of its own.
"""

from __future__ import annotations

import errno
import marshal
import sys
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Optional, Union

from doctor.base.record import record, replace
from doctor.logs.match.matcher import Probe, Seen
from doctor.logs.metrics.bars import Bar, Behind, bar_before, bar_behind, last_bar, look_behind
from doctor.logs.metrics.names import (
    LONGEST_LINE_BYTES,
    METRIC_LITERALS,
    VLLM_NAMES,
    MetricValues,
    shared,
    where_metrics_begin,
)
from doctor.logs.metrics.tables import rows_by_kind, values_at
from doctor.logs.metrics.templates import PackedRow, Templates, rows_by
from doctor.logs.metrics.wanted import everything, is_wanted
from doctor.logs.read.figures import MetricLine

#: name of the probe that sees metric lines
METRICS = "metrics"

#: lines are taken apart and packed by so many; packed rows of one range stay in memory up to this size
ROWS_TOGETHER, MOST_IN_MEMORY_BYTES = 1024, 1 << 20
#: lines that wait for it take no more than this
_MOST_WAITING_BYTES = 1 << 20

#: what is asked for around a line, to find the progress bar that tells its step
_BEFORE_BYTES, _BEHIND_BYTES = 300, 1000
_LONGEST_HEAD_BYTES = 300
_SIZE_BYTES = 8  # of the size before each chunk in a file
#: of marshal: numbers in binary, and no look-up whether an object stood there before
_PLAIN = 2
_NOTHING = Behind(None, followed=False)


_BAR, _DRAWN = 5, 6  # the places of bars in a metric line that was read


class Told(NamedTuple):
    """One metric line.

    Args:
        line: its number, from 1.
        row: what it says.
        head: what stands before the metrics: rank, actor, time.
        bar: the training bar before it, where there was one close by.
        behind: what follows it.

    """

    line: int
    row: MetricValues
    head: bytes
    bar: Optional[Bar]
    behind: Behind


@record
class ToldRows:
    """Some hundred metric lines, column by column.

    Args:
        lines, steps: one of each for a line.
        values: of each kind the values of its lines, one after another.
        kinds: the different tuples of names; `kind`: which of them is a line's. One that is no line's
            holds metrics that nobody asks for.
        heads: what stands before the metrics, None where nothing does before any.
        bars: training bars before the lines, `drawn`: behind them; None where there is none at all.
        followed: whether another row comes before a bar.

    """

    lines: list[int]
    steps: list[Optional[int]]
    kinds: list[tuple[str, ...]]
    kind: list[int]
    values: list[array[float]]
    heads: Optional[list[bytes]]
    bars: Optional[list[Optional[Bar]]]
    drawn: Optional[list[Optional[Bar]]]
    followed: list[bool]

    def __iter__(self) -> Iterator[Told]:
        """Give the lines one by one."""
        nothing = [None] * len(self.lines)
        names = [self.kinds[kind] for kind in self.kind]
        rows = map(MetricValues, self.steps, names, rows_by_kind(self.kinds, self.kind, self.values))
        behind = map(Behind, self.drawn or nothing, self.followed)
        heads = self.heads or [b""] * len(self.lines)
        return map(Told, self.lines, rows, heads, self.bars or nothing, behind)

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.lines)

    def only(self, places: list[int]) -> ToldRows:
        """Some of the lines."""

        def those(column: list[Any]) -> list[Any]:
            return [column[each] for each in places]

        values = values_at(self.kinds, self.kind, self.values, places)
        return ToldRows(
            those(self.lines), those(self.steps), self.kinds, those(self.kind), values,
            self.heads and those(self.heads), self.bars and those(self.bars), self.drawn and those(self.drawn),
            those(self.followed),
        )  # fmt: skip


@record
class ToldRange:
    """Metric lines of one range of a log, in order; those that were spilled can be read once.

    Args:
        packed: rows in memory; `spilled`: a file with those behind them, "" where there is none.
        lost: why rows are missing, "" where none are.

    """

    packed: tuple[bytes, ...]
    spilled: str = ""
    lost: str = ""

    def __iter__(self) -> Iterator[ToldRows]:
        """Give the lines; numbers count from the start of the range."""
        for chunk in self.packed:
            yield _unpacked(chunk)
        if self.spilled:
            with Path(self.spilled).open("rb") as file:
                Path(self.spilled).unlink()
                for chunk in _chunks(file):
                    yield _unpacked(chunk)

    def inlined(self) -> ToldRange:
        """The same rows without a file, to travel to another machine."""
        if not self.spilled:
            return self
        with Path(self.spilled).open("rb") as file:
            Path(self.spilled).unlink()
            return ToldRange((*self.packed, *_chunks(file)), lost=self.lost)

    def spooled(self, folder: str) -> ToldRange:
        """The same rows in a file of a folder, where they are more than stay in memory."""
        if sum(map(len, self.packed)) <= MOST_IN_MEMORY_BYTES:
            return self
        try:
            with _new_file(folder) as file:
                for chunk in self.packed:
                    file.write(len(chunk).to_bytes(_SIZE_BYTES, "little") + chunk)
        except OSError as error:
            return ToldRange((), lost=f"{folder}: {error.strerror}")
        return ToldRange((), file.name, self.lost)


def _new_file(folder: str) -> IO[bytes]:
    """A file of its own in the folder, which the first one makes."""
    if not folder:
        raise FileNotFoundError(errno.ENOENT, "there is no place for temporary files")
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    return tempfile.NamedTemporaryFile(dir=folder, delete=False)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Packed rows of a file."""
    while size := file.read(_SIZE_BYTES):
        yield file.read(int.from_bytes(size, "little"))


class MetricLines:
    """Collects the metric lines of one range; see `doctor.logs.match.matcher.Collector`.

    Args:
        folder: where to write what does not fit into memory; it belongs to the caller.
        every: keep every metric; else those that are judged or drawn, of lines that hold many.

    """

    def __init__(self, folder: str, *, every: bool = False) -> None:
        self._folder = folder
        self._templates = Templates(everything if every else is_wanted)
        self._waiting: list[Union[Seen, MetricLine]] = []
        self._waiting_bytes = 0
        self._packed: list[bytes] = []
        self._bytes = 0
        self._file: Optional[IO[bytes]] = None
        self._lost = ""

    def take(self, seen: Seen) -> None:
        """Take a line that holds one of the literals; most such lines are no metrics."""
        size = len(seen[2])
        if size > LONGEST_LINE_BYTES:
            return
        self._waiting.append(seen)
        self._waiting_bytes += size
        if len(self._waiting) >= ROWS_TOGETHER or self._waiting_bytes > _MOST_WAITING_BYTES:
            self._pack()

    def take_at(self, number: int, data: bytes, start: int, end: int) -> None:
        """Take a line where it stands; what is around it is copied only where its layout is not known yet."""
        found = None
        if end - start <= LONGEST_LINE_BYTES:
            found = self._templates.read_at(number, data, start, end, (_BEFORE_BYTES, _BEHIND_BYTES))
        if found is None:
            before, behind = data[start - _BEFORE_BYTES : start], data[end : end + _BEHIND_BYTES]
            self.take(Seen(-1, number, data[start:end], before, behind))
            return
        if found[_BAR] is False or found[_DRAWN] is False:
            found = _with_bars(found, data, start, end)
        self._waiting.append(found)
        if len(self._waiting) >= ROWS_TOGETHER:
            self._pack()

    def result(self) -> ToldRange:
        """What was collected."""
        self._pack()
        if self._file is None:
            return ToldRange(tuple(self._packed), lost=self._lost)
        self._file.close()
        return ToldRange(tuple(self._packed), self._file.name, self._lost)

    def _pack(self) -> None:
        chunk = _packed(_all_read(self._waiting, self._templates), self._templates.left_out())
        self._waiting, self._waiting_bytes = [], 0
        if not chunk:
            return
        if self._bytes + len(chunk) <= MOST_IN_MEMORY_BYTES and self._file is None:
            self._bytes += len(chunk)
            self._packed.append(chunk)
        elif not self._lost:
            self._spill(chunk)

    def _spill(self, chunk: bytes) -> None:
        """A full disk costs the metrics that come now, not the diagnosis."""
        if not self._folder:
            self._lost = "no temporary folder can be made"
            return
        try:
            if self._file is None:
                self._file = _new_file(self._folder)
            self._file.write(len(chunk).to_bytes(_SIZE_BYTES, "little") + chunk)
            self._file.flush()
        except OSError as error:
            self._lost = f"{self._folder}: {error.strerror}"


def _is_placed(row: PackedRow) -> bool:
    """Whether nobody asks for the bar behind a row: one that tells its step, or a server's."""
    return row[0] is not None or row[1][0] == VLLM_NAMES[0]


def _with_bars(found: MetricLine, data: bytes, start: int, end: int) -> MetricLine:
    """The line with its bars where they are not plain to see: with words before them, or further away."""
    number, step, names, values, head, bar, drawn, followed = found
    if bar is False:
        bar = bar_before(data, start, _BEFORE_BYTES)
    if drawn is False:
        drawn, followed = bar_behind(data, end, _BEHIND_BYTES)
    return number, step, names, values, head, bar, drawn, followed


def _all_read(waiting: list[Union[Seen, MetricLine]], templates: Templates) -> list[MetricLine]:
    """Metric lines in order; those whose layout was not known are read now, and lines that are none left out."""
    lines = [each for each in waiting if isinstance(each, Seen)]
    if not lines:
        return waiting  # type: ignore[return-value]
    told = iter(rows_by(templates, [seen[2] for seen in lines]))
    read: list[MetricLine] = []
    for each in waiting:
        if not isinstance(each, Seen):
            read.append(each)
            continue
        row, start = next(told)
        if row is not None:
            bar = last_bar(each[3], cut=len(each[3]) == _BEFORE_BYTES) if b"%|" in each[3] else None
            drawn, followed = _NOTHING if _is_placed(row) else look_behind(each[4])
            read.append((each[1], *row, _head_of(each[2], start), bar, drawn, followed))
    return read


def _packed(read: list[MetricLine], unasked: tuple[str, ...]) -> bytes:
    """Metric lines as bytes; empty where there are none. `unasked`: metrics told that nobody asks for."""
    if not read:
        return b""
    numbers, steps, names, values, heads, bars, drawn, followed = zip(*read, strict=True)
    kinds: dict[tuple[str, ...], int] = {}
    kind = [kinds.setdefault(each, len(kinds)) for each in names]
    together: list[list[bytes]] = [[] for _ in kinds]
    for place, each in zip(kind, values, strict=True):
        together[place].append(each)
    if unasked:  # a kind without a line: what becomes of it is only that it is known
        kinds.setdefault(unasked, len(kinds))
    return marshal.dumps((
        sys.byteorder, list(numbers), list(steps), list(kinds), kind, [*map(b"".join, together)],
        list(heads) if any(heads) else None, _plain(bars), _plain(drawn), list(followed),
    ), _PLAIN)  # fmt: skip


def _plain(bars: Sequence[Any]) -> Optional[list[Optional[tuple[object, ...]]]]:
    """Bars as marshal can write them; None where there is none."""
    return [None if each is None else tuple(each) for each in bars] if any(bars) else None


def _head_of(raw: bytes, start: int) -> bytes:
    """What stands before the metrics of a line, or may stand there; `start`: where they begin, -1: not known."""
    if start < 0:
        if raw.startswith((b"{'", b"step:")):
            return b""
        start = where_metrics_begin(raw)
        if not start and raw.startswith(b"{"):
            return b""
        start = start or _LONGEST_HEAD_BYTES
    return raw[:start][-_LONGEST_HEAD_BYTES:]


def probe(make: object) -> Probe:
    """The probe that hands metric lines to collectors that `make` makes."""
    return Probe(
        METRICS, METRIC_LITERALS, collector=make, before_bytes=_BEFORE_BYTES, behind_bytes=_BEHIND_BYTES, placed=False,  # type: ignore[arg-type]
    )  # fmt: skip


def numbered(ranges: Sequence[ToldRange], lines: Sequence[int]) -> Iterator[ToldRows]:
    """The lines of a whole log.

    Args:
        ranges: in order of position.
        lines: how many line feeds each range holds.

    """
    before = 0
    for told, count in zip(ranges, lines, strict=True):
        for each in told:
            yield replace(each, lines=[line + before for line in each.lines]) if before else each
        before += count


def _unpacked(chunk: bytes) -> ToldRows:
    order, lines, steps, kinds, kind, packed, heads, bars, drawn, followed = marshal.loads(chunk)  # noqa: S302 - our own bytes, see MetricLines
    names = [shared(each) for each in kinds]
    values = [array("d", each) for each in packed]
    if order != sys.byteorder:  # from another machine
        for each in values:
            each.byteswap()
    values += [array("d")] * (len(names) - len(values))  # of a kind without a line
    return ToldRows(lines, steps, names, kind, values, heads, _bars(bars), _bars(drawn), followed)


def _bars(plain: Optional[list[Optional[tuple[int, int, Optional[float]]]]]) -> Optional[list[Optional[Bar]]]:
    return None if plain is None else [None if each is None else Bar(*each) for each in plain]

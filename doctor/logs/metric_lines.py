"""Metric lines picked out of the one pass over a log: taken apart where they are found, kept small, read in order.

A range of a log is scanned by whichever process is free, but its metrics can only be judged behind those of the range
before it. So each range keeps its rows, packed; what does not fit into a little memory goes to a file of its own.
"""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, Optional

from doctor.logs.matcher import Probe, Seen
from doctor.logs.metrics import (
    METRIC_LITERALS,
    Bar,
    Behind,
    Row,
    last_bar,
    look_behind,
    parse_row,
    shared,
    where_metrics_begin,
)

#: name of the probe that sees metric lines
METRICS = "metrics"

#: rows are packed by so many, and packed rows of one range stay in memory up to this size
ROWS_TOGETHER, MOST_IN_MEMORY_BYTES = 256, 1 << 20

#: what is asked for around a line, to find the progress bar that tells its step
_BEFORE_BYTES, _BEHIND_BYTES = 300, 1000
_LONGEST_HEAD_BYTES = 300
_SIZE_BYTES = 8  # of the size before each chunk in a file
_NO_BAR = (-1, -1, None)
_NOTHING = Behind(None, followed=False)
#: line, step, number of the tuple of names, values, head, bar before, bar behind, whether a row follows before one
_Plain = tuple[int, Optional[int], int, Sequence[float], bytes, tuple[object, ...], tuple[object, ...], bool]


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
    row: Row
    head: bytes
    bar: Optional[Bar]
    behind: Behind


@dataclass(frozen=True)
class ToldRange:
    """Metric lines of one range of a log, in order; those that were spilled can be read once.

    Args:
        packed: rows in memory; `spilled`: a file with those behind them, "" where there is none.
        lost: why rows are missing, "" where none are.

    """

    packed: tuple[bytes, ...]
    spilled: str = ""
    lost: str = ""

    def __iter__(self) -> Iterator[Told]:
        """Give the lines; numbers count from the start of the range."""
        for chunk in self.packed:
            yield from _unpacked(chunk)
        if self.spilled:
            with Path(self.spilled).open("rb") as file:
                Path(self.spilled).unlink()
                for chunk in _chunks(file):
                    yield from _unpacked(chunk)

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
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                for chunk in self.packed:
                    file.write(len(chunk).to_bytes(_SIZE_BYTES, "little") + chunk)
        except OSError as error:
            return ToldRange((), lost=f"{folder}: {error.strerror}")
        return ToldRange((), file.name, self.lost)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Packed rows of a file."""
    while size := file.read(_SIZE_BYTES):
        yield file.read(int.from_bytes(size, "little"))


class MetricLines:
    """Collects the metric lines of one range; see `doctor.logs.matcher.Collector`.

    Args:
        folder: where to write what does not fit into memory; it belongs to the caller.

    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._rows: list[_Plain] = []
        self._names: dict[tuple[str, ...], int] = {}
        self._packed: list[bytes] = []
        self._bytes = 0
        self._file: Optional[IO[bytes]] = None
        self._lost = ""

    def take(self, seen: Seen) -> None:
        """Take a line that holds one of the literals; most such lines are no metrics."""
        _, line, raw, before, behind = seen
        row = parse_row(raw)
        if row is None:
            return
        step, names, values = row
        head = b"" if raw.startswith((b"{'", b"step:")) else _head_of(raw)
        bar = last_bar(before) if b"%|" in before else None
        drawn, followed = look_behind(behind) if step is None else _NOTHING
        self._rows.append(
            (line, step, self._names.setdefault(names, len(self._names)), values, head,
             _NO_BAR if bar is None else tuple(bar), _NO_BAR if drawn is None else tuple(drawn), followed)
        )  # fmt: skip
        if len(self._rows) >= ROWS_TOGETHER:
            self._pack()

    def result(self) -> ToldRange:
        """What was collected."""
        self._pack()
        if self._file is None:
            return ToldRange(tuple(self._packed), lost=self._lost)
        self._file.close()
        return ToldRange(tuple(self._packed), self._file.name, self._lost)

    def _pack(self) -> None:
        if not self._rows:
            return
        chunk = marshal.dumps((list(self._names), self._rows))
        self._rows, self._names = [], {}
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
                self._file = tempfile.NamedTemporaryFile(dir=self._folder, delete=False)  # noqa: SIM115 - closed by result
            self._file.write(len(chunk).to_bytes(_SIZE_BYTES, "little") + chunk)
            self._file.flush()
        except OSError as error:
            self._lost = f"{self._folder}: {error.strerror}"


def _head_of(raw: bytes) -> bytes:
    """What stands before the metrics of a line, or may stand there."""
    start = where_metrics_begin(raw)
    if not start and raw.startswith(b"{"):
        return b""
    return raw[: start or _LONGEST_HEAD_BYTES][-_LONGEST_HEAD_BYTES:]


def probe(make: object) -> Probe:
    """The probe that hands metric lines to collectors that `make` makes."""
    return Probe(
        METRICS, METRIC_LITERALS, collector=make, before_bytes=_BEFORE_BYTES, behind_bytes=_BEHIND_BYTES, placed=False,  # type: ignore[arg-type]
    )  # fmt: skip


def numbered(ranges: Sequence[ToldRange], lines: Sequence[int]) -> Iterator[Told]:
    """The lines of a whole log.

    Args:
        ranges: in order of position.
        lines: how many line feeds each range holds.

    """
    before = 0
    for told, count in zip(ranges, lines, strict=True):
        for each in told:
            yield each._replace(line=each.line + before) if before else each
        before += count


def _unpacked(chunk: bytes) -> Iterator[Told]:
    kinds, rows = marshal.loads(chunk)  # noqa: S302 - our own bytes, see MetricLines
    names = [shared(each) for each in kinds]
    for line, step, kind, values, head, bar, drawn, followed in rows:
        behind = Behind(None if drawn[0] == -1 else Bar(*drawn), followed)
        yield Told(line, Row(step, names[kind], values), head, None if bar[0] == -1 else Bar(*bar), behind)

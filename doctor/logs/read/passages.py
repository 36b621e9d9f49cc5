"""The parts of a log that are read line by line: its head, its end, and what surrounds every failure.

A log of gigabytes is scanned in blocks; only these parts are kept and taken apart: memory and time stay bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from doctor.base.record import mutable, record
from doctor.logs.read.blocks import Block
from doctor.logs.read.quick import count_line_feeds

try:
    from isal import isal_zlib as zlib  # type: ignore[import-not-found,unused-ignore]  # thrice as fast
except ImportError:
    import zlib  # type: ignore[no-redef,unused-ignore]

#: what makes a block worth keeping besides head and tail: names of probes and their literals. The common one stands
#: alone, for a block is searched again only for those that it holds
ANCHORS = {
    "anchor": (b"Traceback (most recent",),
    "rare anchor": (b"terminate called", b"Fatal Python error", b" Check failed: ", b"double free or corruption",
                    b"stack smashing detected"),
}  # fmt: skip
_MOST_LINES = 8_192  # of a block, whose 64 KiB may be as many line feeds; lines of real logs have 8 characters and more
HEAD, FIRST, LAST, TAIL = 4, 48, 16, 16  # blocks at the start and end, pieces around the first and last failures
#: tracebacks after which no further piece is kept for the first ones, and none of the last: where every line is one,
#: the hundred behind them say nothing new, and reading them costs more than the scan
MOST_FIRST, MOST_LAST = 3_000, 1_000
#: bytes that are kept before a failure, and behind the last line of it that is known as one: messages may be long
BEFORE, BEHIND = 1 << 12, 1 << 14
#: what shows, beside an anchor, that a traceback goes on; those of several processes may be interleaved
_FRAME = b'File "'
_HEADER = ANCHORS["anchor"][0]
_SAMPLE = 1 << 13  # bytes of a piece by which its tracebacks are counted
_LONGEST_LINE = 20_000  # bytes of one line that are looked at; what is longer is data


class LinePiece(NamedTuple):
    """Whole lines.

    Args:
        number: which block of its range.
        line: number of its first line, from 1.
        kept: the lines; `packed`: whether they are compressed.
        part: whether they are only a part of a block.

    """

    number: int
    line: int
    kept: bytes
    part: bool = False
    packed: bool = True

    @property
    def data(self) -> bytes:
        """The lines."""
        return zlib.decompress(self.kept) if self.packed else self.kept


@mutable
class Passages:
    """What was kept of one range of a log."""

    head: list[LinePiece] = field(default_factory=list)
    anchored: list[LinePiece] = field(default_factory=list)
    tail: list[LinePiece] = field(default_factory=list)
    blocks: int = 0
    lines: int = 0


class Kept:
    """Takes every block of a range in order and keeps those that matter: a watcher of the scan.

    Args:
        head, tail: how many blocks are kept at the start and at the end.
        pack: whether what is kept is compressed, for a range may be one of hundreds.

    """

    def __init__(self, head: int = HEAD, tail: int = TAIL, *, pack: bool = True) -> None:
        self._most_head, self._pack = head, pack
        self._blocks = self._lines = 0
        self._head: list[_Lines] = []
        self._first: list[_Lines] = []
        self._last: deque[tuple[_Lines, int]] = deque()
        self._tracebacks = self._last_tracebacks = 0
        self._tail: deque[_Lines] = deque(maxlen=tail)
        self._open = False  # whether the block before ended inside a failure

    def take(self, block: Block, probes: frozenset[str]) -> None:
        """Look at the next block and the names of the probes that saw a line in it."""
        first_line, data = block.lines_before + 1, block.data
        self._lines = block.lines_before + block.line_feeds
        if block.continued:  # of a line of megabytes the first piece is enough
            end = data.find(b"\n") + 1
            if not end:
                return
            first_line, data = first_line + 1, data[end:]
        whole = _Lines(self._blocks, first_line, data)
        if self._blocks == 0 and block.offset > 0:
            self._open = True  # of a failure that began in the range before
        self._blocks += 1
        if len(self._head) < self._most_head:
            self._head.append(whole)
        anchors = tuple(word for name in ANCHORS if name in probes for word in ANCHORS[name])
        if anchors or self._open:
            self._failures(whole, anchors)
        self._tail.append(whole)

    def _failures(self, whole: _Lines, anchors: tuple[bytes, ...]) -> None:
        """Keep what surrounds the failures of a block; `anchors`: literals that it may hold."""
        number, line, data, _ = whole
        end = -1
        for start, end in _spans(data, anchors, inside=self._open):
            if end - start == len(data):
                part = whole
            else:
                part = _Lines(number, line + count_line_feeds(data, 0, start), data[start:end], part=True)
            self._keep(part)
        self._open = end == len(data)

    def _keep(self, part: _Lines) -> None:
        # by its beginning: counting all of them would cost as much as finding them did
        count = part.data.count(_HEADER, 0, _SAMPLE) * max(1, len(part.data) // _SAMPLE)
        if len(self._first) < FIRST and self._tracebacks < MOST_FIRST:
            self._first.append(part)
            self._tracebacks += count
            return
        self._last.append((part, count))
        self._last_tracebacks += count
        while len(self._last) > LAST or self._last_tracebacks - self._last[0][1] >= MOST_LAST:
            self._last_tracebacks -= self._last.popleft()[1]

    def result(self) -> Passages:
        """What was kept."""
        packed: dict[tuple[int, int], LinePiece] = {}

        def pack(pieces: Iterable[_Lines]) -> list[LinePiece]:
            out = []
            for number, line, data, part in pieces:
                key = (number, -1 if not part else line)
                if key not in packed:
                    packed[key] = LinePiece(
                        number, line, zlib.compress(data, 1) if self._pack else data, part, self._pack
                    )
                out.append(packed[key])
            return out

        anchored = pack([*self._first, *(part for part, _ in self._last)])
        return Passages(pack(self._head), anchored, pack(self._tail), self._blocks, self._lines)


class _Lines(NamedTuple):
    number: int
    line: int
    data: bytes
    part: bool = False


def _spans(data: bytes, anchors: tuple[bytes, ...], *, inside: bool) -> Iterator[tuple[int, int]]:
    """Parts of a block around its failures, in whole lines; `inside`: one goes on from the block before."""
    end = 0
    goes_on = (_FRAME, *anchors)
    at = 0 if inside else _first(data, anchors, 0)
    while at >= 0:
        start = max(end, data.rfind(b"\n", 0, max(at - BEFORE, 0)) + 1)
        end = at + BEHIND
        while end < len(data) and (last := max(data.rfind(each, at, end) for each in goes_on)) + BEHIND > end:
            end = last + BEHIND
        end = data.find(b"\n", end) + 1 or len(data)
        yield start, end
        at = _first(data, anchors, end)


def _first(data: bytes, words: tuple[bytes, ...], start: int) -> int:
    """Where the first of some words stands, -1 where none does."""
    return min((at for each in words if (at := data.find(each, start)) >= 0), default=-1)


@record
class ReadLines:
    """Lines to be read of a whole log: (line number, text); `whole`: nothing was left out."""

    lines: list[tuple[int, str]]
    whole: bool


def joined(ranges: Sequence[Passages]) -> ReadLines:
    """The head of the first range, the end of the last, and the first and last failures of all."""
    if not ranges:
        return ReadLines([], whole=True)
    before, shifted = 0, []
    for each in ranges:
        shifted.append((each, before))
        before += each.lines
    anchored = [(index, piece) for index, (each, _) in enumerate(shifted) for piece in each.anchored]
    if len(anchored) > FIRST + LAST:
        anchored = [*anchored[:FIRST], *anchored[-LAST:]]
    blocks = {(index, piece.number): piece for index, piece in anchored if not piece.part}
    blocks |= {(0, piece.number): piece for piece in ranges[0].head}
    blocks |= {(len(ranges) - 1, piece.number): piece for piece in ranges[-1].tail}
    wanted = {(index, piece.line): piece for (index, _), piece in blocks.items()}
    wanted |= {
        (index, piece.line): piece for index, piece in anchored if piece.part and (index, piece.number) not in blocks
    }
    lines: list[tuple[int, str]] = []
    whole = len(blocks) == sum(each.blocks for each in ranges)
    for (index, _), piece in sorted(wanted.items()):
        here = list(_lines(piece))
        if len(here) > _MOST_LINES:
            here, whole = [*here[: _MOST_LINES // 2], *here[-_MOST_LINES // 2 :]], False
        lines += ((shifted[index][1] + line, text) for line, text in here)
    return ReadLines(lines, whole=whole)


def _lines(piece: LinePiece) -> Iterator[tuple[int, str]]:
    """Lines of a piece; bars that a carriage return overwrote share a number."""
    raw = piece.data.split(b"\n")
    if not raw[-1]:
        raw.pop()
    for offset, each in enumerate(raw):
        if each:
            yield from ((piece.line + offset, text) for text in _parts(each))
        else:
            yield piece.line + offset, ""


def _parts(raw: bytes) -> Iterator[str]:
    if len(raw) > _LONGEST_LINE:
        raw = raw[: _LONGEST_LINE // 2] + b" ... " + raw[-_LONGEST_LINE // 2 :]
    text = raw.decode("utf-8", "replace")
    if "\r" not in text:
        yield text
        return
    for part in text.split("\r"):
        if part:
            yield part

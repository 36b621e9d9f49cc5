"""The parts of a log that are read line by line: its head, its end, and what surrounds every failure.

A log of gigabytes is scanned in blocks; only these parts are kept and taken apart: memory and time stay bounded.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from doctor.logs.blocks import Block

#: name of the probe for what makes a block worth keeping besides head and tail, and its literals
ANCHOR = "anchor"
ANCHORS = (b"Traceback (most recent", b"terminate called", b"Fatal Python error")
HEAD, FIRST, LAST, TAIL = 4, 48, 16, 16  # blocks: at the start, around the first and last failures, at the end
_LONGEST_LINE = 20_000  # bytes of one line that are looked at; what is longer is data


class Piece(NamedTuple):
    """Whole lines. `number`: which block of its range; `line`: number of the first line there, from 1."""

    number: int
    line: int
    packed: bytes

    @property
    def data(self) -> bytes:
        """The lines."""
        return zlib.decompress(self.packed)


@dataclass
class Passages:
    """What was kept of one range of a log; pieces are packed, for a range may be one of hundreds."""

    head: list[Piece] = field(default_factory=list)
    anchored: list[Piece] = field(default_factory=list)
    tail: list[Piece] = field(default_factory=list)
    blocks: int = 0
    lines: int = 0


class Kept:
    """Takes every block of a range in order and keeps those that matter: a watcher of the scan."""

    def __init__(self) -> None:
        """Start empty."""
        self._blocks = self._lines = 0
        self._head: list[tuple[int, int, bytes]] = []
        self._first: list[tuple[int, int, bytes]] = []
        self._last: deque[tuple[int, int, bytes]] = deque(maxlen=LAST)
        self._tail: deque[tuple[int, int, bytes]] = deque(maxlen=TAIL)
        self._open = False  # whether the block before had an anchor: a traceback may go on

    def take(self, block: Block, probes: frozenset[str]) -> None:
        """Look at the next block and the names of the probes that saw a line in it."""
        first_line, data = block.lines_before + 1, block.data
        self._lines = block.lines_before + data.count(b"\n")
        if block.continued:  # of a line of megabytes the first piece is enough
            end = data.find(b"\n") + 1
            if not end:
                return
            first_line, data = first_line + 1, data[end:]
        anchored = ANCHOR in probes
        piece = (self._blocks, first_line, data)
        self._blocks += 1
        if len(self._head) < HEAD:
            self._head.append(piece)
        if anchored or self._open:
            (self._first if len(self._first) < FIRST else self._last).append(piece)
        self._tail.append(piece)
        self._open = anchored

    def result(self) -> Passages:
        """What was kept."""
        packed: dict[int, Piece] = {}

        def pack(pieces: Sequence[tuple[int, int, bytes]]) -> list[Piece]:
            for number, line, data in pieces:
                if number not in packed:
                    packed[number] = Piece(number, line, zlib.compress(data, 1))
            return [packed[number] for number, _, _ in pieces]

        anchored = pack([*self._first, *self._last])
        return Passages(pack(self._head), anchored, pack(list(self._tail)), self._blocks, self._lines)


@dataclass(frozen=True)
class Reading:
    """Lines to be read of a whole log: (line number, text); `whole`: nothing was left out."""

    lines: list[tuple[int, str]]
    whole: bool


def joined(ranges: Sequence[Passages]) -> Reading:
    """The head of the first range, the end of the last, and the first and last failures of all."""
    if not ranges:
        return Reading([], whole=True)
    before, shifted = 0, []
    for each in ranges:
        shifted.append((each, before))
        before += each.lines
    anchored = [(index, piece) for index, (each, _) in enumerate(shifted) for piece in each.anchored]
    if len(anchored) > FIRST + LAST:
        anchored = [*anchored[:FIRST], *anchored[-LAST:]]
    wanted = {(index, piece.number): piece for index, piece in anchored}
    wanted |= {(0, piece.number): piece for piece in ranges[0].head}
    wanted |= {(len(ranges) - 1, piece.number): piece for piece in ranges[-1].tail}
    lines = [
        (shifted[index][1] + line, text) for (index, _), piece in sorted(wanted.items()) for line, text in _lines(piece)
    ]
    return Reading(lines, whole=len(wanted) == sum(each.blocks for each in ranges))


def _lines(piece: Piece) -> Iterator[tuple[int, str]]:
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

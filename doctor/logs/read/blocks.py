"""Cuts a stream into blocks of whole lines, and keeps account of where its lines are.

Scanning goes block by block, for a call per line would cost more than the search itself. A carriage return ends a line
too, for progress bars write thousands of them before the first line feed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from doctor.base.record import mutable
from doctor.logs.read.quick import count_line_feeds

SIZE = 1 << 16  # blocks of 64 KiB stay in the second-level cache: measured fastest for the automaton
LONGEST = 1 << 16  # a longer line is handled in pieces of this size; not less than SIZE, see `Blocks._feed`
OVERLAP = 1 << 13  # what two pieces share: a match of up to 8 KiB is not lost between them
STEP = LONGEST - OVERLAP
HEAD_BYTES = 160  # kept of a block's first line: enough for a stamp behind any prefix
_MOST_HEADS = 8192


@dataclass(slots=True)
class Block:
    """Whole lines, or one piece of a line that is longer than `LONGEST`.

    Args:
        offset: byte offset of `data` in the stream.
        data: the lines with their ends.
        lines_before: line feeds before `data`.
        line_offset: where the first line of `data` starts; before `offset` when `data` goes on with a long line.
        unfinished: the last line of `data` goes on in the next block, or the stream ended without a line end.
        line_feeds: how many `data` holds, -1 until somebody has counted them, for that costs as much as reading; who
            numbers lines comes by them anyway, and takes the figure down before the next block is asked for.

    """

    offset: int
    data: bytes
    lines_before: int
    line_offset: int
    unfinished: bool = False
    line_feeds: int = 0

    @property
    def continued(self) -> bool:
        """Whether `data` starts inside a line whose beginning was in the block before."""
        return self.line_offset < self.offset


class Blocks:
    """Takes bytes in portions of any size and gives blocks; pieces of long lines do not depend on the portions.

    Args:
        offset: where in the stream the first byte is, for a range of a file.

    """

    def __init__(self, offset: int = 0) -> None:
        self._tail = b""
        self._offset = offset
        self._line_offset = offset
        self.lines = 0
        self.total_bytes = 0
        self._open_line = False

    def feed(self, data: bytes) -> Iterator[Block]:
        """Blocks that are complete now."""
        if len(data) <= SIZE:
            yield from self._feed(data)
            return
        for at in range(0, len(data), SIZE):
            yield from self._feed(data[at : at + SIZE])

    def close(self) -> Iterator[Block]:
        """What is left: a last line without an end."""
        if self._tail:
            yield Block(self._offset, self._tail, self.lines, self._line_offset, unfinished=True)
            self._tail = b""

    @property
    def line_count(self) -> int:
        """Lines so far as an editor counts them: line feeds, and one more for a last line without."""
        return self.lines + self._open_line

    def _feed(self, data: bytes) -> Iterator[Block]:
        if not data:
            return
        self.total_bytes += len(data)
        self._open_line = not data.endswith(b"\n")
        first = _first_end(data)
        # No portion is longer than LONGEST, so only the line that the tail began can be.
        if first < 0 or len(self._tail) + first > LONGEST:
            data = yield from self._long(self._tail + data, len(self._tail) + first if first >= 0 else -1)
            if not data:
                return
        feed = data.rfind(b"\n")
        cut = max(feed, data.rfind(b"\r", feed + 1)) + 1
        whole = b"".join((self._tail, memoryview(data)[:cut]))  # copied once
        block = Block(self._offset, whole, self.lines, self._line_offset, line_feeds=-1)
        yield block
        if block.line_feeds < 0:
            block.line_feeds = count_line_feeds(whole, 0, len(whole))
        self.lines += block.line_feeds
        self._offset += len(whole)
        self._line_offset = self._offset
        self._tail = data[cut:]

    def _long(self, buffer: bytes, end: int) -> Generator[Block, None, bytes]:
        """Pieces of a line that is too long or has no end yet, which lies at `end`; returns what is left with its end.

        Without one, what is left becomes the tail.
        """
        while end > LONGEST or (end < 0 and len(buffer) > LONGEST):
            yield Block(self._offset, buffer[:LONGEST], self.lines, self._line_offset, unfinished=True)
            buffer = buffer[STEP:]
            self._offset += STEP
            end = end - STEP if end >= 0 else end
        self._tail = b"" if end >= 0 else buffer
        return buffer if end >= 0 else b""


def _first_end(data: bytes) -> int:
    """Position of the first line end, -1 when there is none."""
    feed = data.find(b"\n")
    carriage = data.find(b"\r", 0, feed if feed >= 0 else len(data))
    return carriage if carriage >= 0 else feed


@mutable
class LineIndex:
    """Where lines are: the line number at the start of each block, and the first bytes of some blocks' first lines.

    Sixteen bytes a block, so 2.5 MB for 10 GB.
    """

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    lines: array[int] = field(default_factory=lambda: array("Q"))
    heads: list[tuple[int, bytes]] = field(default_factory=list)
    _stride: int = 1
    _seen: int = 0

    def add(self, block: Block) -> None:
        """Take note of a block; those that start inside a line have no number of their own."""
        if block.continued:
            return
        self.offsets.append(block.offset)
        self.lines.append(block.lines_before)
        if self._seen % self._stride == 0:
            self.heads.append((block.offset, block.data[:HEAD_BYTES]))
            if len(self.heads) > _MOST_HEADS:
                self.heads = self.heads[::2]
                self._stride *= 2
        self._seen += 1

    def before(self, offset: int) -> tuple[int, int]:
        """(offset, line feeds before it) of the nearest block at or before an offset; counting goes on from there."""
        at = bisect_right(self.offsets, offset) - 1
        return (self.offsets[at], self.lines[at]) if at >= 0 else (0, 0)

    def join(self, later: LineIndex, lines: int) -> None:
        """Append the index of the range that follows; `lines` is the number of line feeds before that range."""
        self.offsets.extend(later.offsets)
        self.lines.extend(array("Q", (each + lines for each in later.lines)))
        self.heads += later.heads
        while len(self.heads) > _MOST_HEADS:
            self.heads = self.heads[::2]
            self._stride *= 2

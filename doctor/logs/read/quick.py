"""What is done with every byte of a log: codes cut out, lines counted, literals noted; `figures` does metric lines.

`_quick.c` holds the same, compiled when the doctor is installed where there is a compiler; end to end a
post-mortem takes 0 to 4 % less time with it at 5 MB, 4 to 10 % at 100 MB, 6 to 16 % at 400 MB
and 20 to 28 % at 1 GB (benchmarks/logs.py). Both give the same answers, tested against each other.
"""

from __future__ import annotations

from collections.abc import Callable

from doctor.base.patterns import later

__all__ = [
    "CODES", "behind_line_feeds", "count_line_feeds", "cut_codes", "literal_noter", "piece_around",
    "plain_behind_line_feeds", "plain_count_line_feeds", "plain_cut_codes", "plain_literal_noter", "plain_piece_around",
]  # fmt: skip

#: colours and cursor movements (ECMA-48), window titles and links (ended by BEL or ST), single shifts; never a line
#: end. The first alternative tells nothing new: it is that of nearly every code, and quickly told
CODES = later(
    rb"\x1b(?:\[[0-9;]{0,64}m|\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,2048}(?:\x07|\x1b\\)|[@-Z\\^_])"
)


def plain_cut_codes(raw: bytes, /) -> bytes:
    """Text without its terminal codes; the same object where it has none."""
    return CODES.sub(b"", raw) if b"\x1b" in raw else raw


def plain_count_line_feeds(data: bytes, start: int, end: int, /) -> int:
    """Line feeds of a part, whose bounds are not negative."""
    return data.count(b"\n", start, end)


def plain_behind_line_feeds(data: bytes, start: int, count: int, /) -> int:
    """Position behind so many line feeds from a position on; behind the last where they are fewer."""
    return len(data) - len(data[start:].split(b"\n", count)[-1])


def plain_piece_around(data: bytes, at: int, /) -> tuple[int, int]:
    """Start and end of what stands around a position, which is not negative, between two ends of lines."""
    start = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
    end = data.find(b"\n", at)
    end = len(data) if end < 0 else end
    carriage = data.find(b"\r", at, end)
    return start, carriage if carriage >= 0 else end


#: of the beginning of a literal: its length, numbers of the literals that begin so, and these, where more must follow
Beginning = tuple[int, tuple[int, ...], tuple[bytes, ...]]


def plain_literal_noter(
    data: bytes, found: list[tuple[int, int]], beginnings: tuple[Beginning, ...], /
) -> Callable[[int, int, int, int, object], None]:
    """What hyperscan calls for each beginning that it finds; notes the literals that stand there, and where.

    Args:
        data: what is searched.
        found: what is added to: (number of a literal, a position inside it).
        beginnings: in the order of the numbers by which hyperscan knows them.

    """
    add = found.append

    def note(beginning: int, _start: int, end: int, _flags: int, _context: object, /) -> None:
        length, numbers, literals = beginnings[beginning]
        if not literals:
            add((numbers[0], end - 1))
            return
        start = end - length
        for number, literal in zip(numbers, literals, strict=True):
            if data.startswith(literal, start):
                add((number, end - 1))

    return note


try:
    from doctor.logs.read._quick import behind_line_feeds, count_line_feeds, cut_codes, literal_noter, piece_around
except ImportError:
    behind_line_feeds, count_line_feeds = plain_behind_line_feeds, plain_count_line_feeds
    cut_codes, literal_noter, piece_around = plain_cut_codes, plain_literal_noter, plain_piece_around

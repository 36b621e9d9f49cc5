"""What is done with every byte of a log: codes cut out, lines counted.

`_quick.c` holds the same, compiled when the doctor is installed where there is a compiler; a scan takes a fifth less
time with it. Both give the same answers, tested against each other.
"""

from __future__ import annotations

import re

__all__ = [
    "CODES", "behind_line_feeds", "count_line_feeds", "cut_codes", "plain_behind_line_feeds",
    "plain_count_line_feeds", "plain_cut_codes",
]  # fmt: skip

#: colours and cursor movements (ECMA-48), window titles and links (ended by BEL or ST), single shifts; never a line
#: end. The first alternative tells nothing new: it is that of nearly every code, and quickly told
CODES = re.compile(
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


try:
    from doctor.logs._quick import behind_line_feeds, count_line_feeds, cut_codes
except ImportError:
    behind_line_feeds, count_line_feeds, cut_codes = (
        plain_behind_line_feeds, plain_count_line_feeds, plain_cut_codes,
    )  # fmt: skip

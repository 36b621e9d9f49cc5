"""Cuts terminal codes out of text, and finds the way back to where it stood before."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

#: colours and cursor movements (ECMA-48), window titles and links (ended by BEL or ST), single shifts; never a line
#: end. The first alternative tells nothing new: it is that of nearly every code, and quickly told
CODES = re.compile(
    rb"\x1b(?:\[[0-9;]{0,64}m|\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,2048}(?:\x07|\x1b\\)|[@-Z\\^_])"
)


def clean(data: bytes) -> bytes:
    """Text without terminal codes; lines stay lines."""
    return Cleaned(data).data


class Cleaned:
    """Text without its terminal codes.

    Attributes:
        data: what is left; lines stay lines.

    """

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.data = CODES.sub(b"", raw) if b"\x1b" in raw else raw
        self._places: list[int] | None = None
        self._removed: list[int] = []

    def raw_offset(self, start: int) -> int:
        """Where the line that starts here in `data` starts in the raw text."""
        if len(self.data) == len(self._raw):
            return start
        if self._places is None:
            self._places, self._removed = self._cuts()
        # A code that stands where a line starts belongs to that line: only what lies before it moves the start.
        return start + self._removed[bisect_left(self._places, start)]

    def _cuts(self) -> tuple[list[int], list[int]]:
        """Where in `data` codes stood, and how many bytes of them lie before each of these places and behind them."""
        codes = [match.span() for match in CODES.finditer(self._raw)]
        removed = [0, *accumulate(end - start for start, end in codes)]
        return [start - before for (start, _), before in zip(codes, removed, strict=False)], removed

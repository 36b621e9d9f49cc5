"""Cuts terminal codes out of text, and finds the way back to where it stood before."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

#: colours and cursor movements (ECMA-48), window titles and links (ended by BEL or ST), single shifts; never a line end
CODES = re.compile(rb"(\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,2048}(?:\x07|\x1b\\)|[@-Z\\^_]))")


def clean(data: bytes) -> bytes:
    """Text without terminal codes; lines stay lines."""
    return Cleaned(data).data


class Cleaned:
    """Text without its terminal codes.

    Attributes:
        data: what is left; lines stay lines.

    """

    def __init__(self, raw: bytes) -> None:
        self._parts = CODES.split(raw) if b"\x1b" in raw else [raw]
        self.data = b"".join(self._parts[::2]) if len(self._parts) > 1 else raw
        self._places: list[int] | None = None
        self._removed: list[int] = []

    def raw_offset(self, start: int) -> int:
        """Where the line that starts here in `data` starts in the raw text."""
        if len(self._parts) == 1:
            return start
        if self._places is None:
            self._places = list(accumulate(map(len, self._parts[::2])))
            self._removed = [0, *accumulate(map(len, self._parts[1::2]))]
        # A code that stands where a line starts belongs to that line: only what lies before it moves the start.
        return start + self._removed[min(bisect_left(self._places, start), len(self._removed) - 1)]

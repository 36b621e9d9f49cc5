"""Cuts terminal codes out of text, and finds the way back to where it stood before."""

from __future__ import annotations

import re

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
        self._place = 0, 0  # where in `data` and in the raw text the line starts that was asked for last

    def raw_offset(self, start: int) -> int:
        """Where the line that starts here in `data` starts in the raw text; asked for in order it costs least.

        No code holds a line end, so the line has as many of them before it in both. A code that stands where a line
        starts belongs to that line.
        """
        data, raw = self.data, self._raw
        if len(data) == len(raw):
            return start
        at, raw_at = self._place if self._place[0] <= start else (0, 0)
        for end in b"\n", b"\r":  # whole lines, then the bars that were drawn over one another in the last
            if ends := data.count(end, at, start):
                at = data.rfind(end, at, start) + 1
                raw_at = len(raw) - len(raw[raw_at:].split(end, ends)[-1])
            if end == b"\n":
                self._place = at, raw_at
        return raw_at

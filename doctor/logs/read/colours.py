"""Cuts terminal codes out of text, and finds the way back to where it stood before."""

from __future__ import annotations

from doctor.logs.read.quick import behind_line_feeds, count_line_feeds, cut_codes


def clean(data: bytes) -> bytes:
    """Text without terminal codes; lines stay lines."""
    return cut_codes(data)


class Cleaned:
    """Text without its terminal codes.

    Attributes:
        data: what is left; lines stay lines.

    """

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.data = cut_codes(raw)
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
        feeds = count_line_feeds(data, at, start)
        if feeds:
            at = data.rfind(b"\n", at, start) + 1
            raw_at = behind_line_feeds(raw, raw_at, feeds)
        self._place = at, raw_at
        if bars := data.count(b"\r", at, start):  # which were drawn over one another in the last line
            raw_at = len(raw) - len(raw[raw_at:].split(b"\r", bars)[-1])
        return raw_at

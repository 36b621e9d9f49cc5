"""A line of a log as the structure readers see it: stripped, and with its place."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One line without prefixes.

    Args:
        text: the message; `level`: "E", "W", "I", "D", "F" or "".
        process: label of who printed it, unique within the case; "" for the one writer of an unlabelled file.
        rank: global rank where told by prefix or file name.
        time_ns: wall time since the epoch, None without a stamp.
        file, number: place; `number` counts from 1. `source`: position of its file in the case.
        repeated: how many more lines Ray folded into it; `stamped`: whether it carried a time or a level.
        order: position in order of time, which is not that of the numbers in a file that shows its newest line first.

    """

    text: str
    process: str
    rank: int | None
    time_ns: int | None
    file: str
    number: int
    level: str = ""
    source: int = 0
    repeated: int = 0
    stamped: bool = False
    order: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """Sorts lines in the order in which they were read."""
        return self.source, self.order

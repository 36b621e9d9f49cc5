"""Runs that were written one behind the other into the same file: the last of them is the one that is asked about.

`nohup` appends to its file, and says so whenever it starts a command
(https://www.gnu.org/software/coreutils/manual/html_node/nohup-invocation.html). Where that line comes again after a run
ended, and what follows begins as the run before did, the same command was started anew. Without it nothing tells a
second attempt from the next stage of a script, whose failure is a consequence of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from doctor.logs.metric_lines import ToldRows
from doctor.logs.scan import Scanned

_NOHUP = "nohup: ignoring input"
#: one of these is in what a run ends with, well or badly
_ENDS = (
    "Traceback (most recent call last)", "error: ", "Segmentation fault", "Killed", "core dumped", "train_runtime",
    "Training completed",
)  # fmt: skip
_FENCE = "```"  # a pasted thread shows logs side by side
#: lines by which two runs are known to be of one command, and how long such a line is at least
_FIRST_LINES, _LONG = 40, 20
_DIGITS = re.compile(r"\d+")


class Last(NamedTuple):
    """The last of several runs: the line that it starts with, and how many there are."""

    line: int
    runs: int


def last_run(lines: Sequence[tuple[int, str]]) -> Last | None:
    """Where the last of several runs of a command begins, None where there is one or it cannot be told.

    Args:
        lines: (number, text) of those lines of a file that were kept, in order.

    """
    starts: list[int] = []  # positions in `lines`
    ended = False
    for place, (_, text) in enumerate(lines):
        if text.startswith(_FENCE):
            return None
        if _NOHUP in text and (not starts or ended):
            starts.append(place)
            ended = False
        elif starts and not ended:
            ended = any(each in text for each in _ENDS)
    if len(starts) < 2 or not _first_lines(lines[starts[-2] : starts[-1]]) & _first_lines(lines[starts[-1] :]):
        return None
    return Last(lines[starts[-1]][0], len(starts))


def _first_lines(run: Sequence[tuple[int, str]]) -> set[str]:
    """What a run begins with, its figures left out; not what every Python program prints when it fails."""
    first = (text.strip() for _, text in run[:_FIRST_LINES] if _NOHUP not in text)
    return {_DIGITS.sub("0", text) for text in first if len(text) >= _LONG and not text.startswith("Traceback")}


def of_last_run(found: Scanned) -> tuple[Scanned, Last | None]:
    """What was found in the last run of a log, and which it is; all of it where there is one run."""
    last = last_run(found.lines)
    if last is None:
        return found, None
    hits = [each for each in found.hits if each.line >= last.line]
    counts = {each: sum(hit.signature == each for hit in hits) for each in {hit.signature for hit in hits}}
    lines = [each for each in found.lines if each[0] >= last.line]
    return replace(found, lines=lines, hits=hits, counts=counts), last


def rows_since(batches: Iterable[ToldRows], line: int) -> Iterator[ToldRows]:
    """Metric lines from a line on."""
    for each in batches:
        keep = [place for place, number in enumerate(each.lines) if number >= line]
        if len(keep) == len(each):
            yield each
        elif keep:
            yield each.only(keep)

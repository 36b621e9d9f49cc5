"""A run that was to go on from a checkpoint and begins from nothing: what the log names beside what the metrics tell.

The Trainer does not read `TrainingArguments.resume_from_checkpoint`
(https://huggingface.co/docs/transformers/main_classes/trainer), and loops of one's own forget it as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.courses import Anew
from doctor.logs.metrics.lines import ToldRows

#: losses that are the same to the last digit are no chance where they differ from each other
_LOSSES = 3
#: a run that is so young has no checkpoint to go on from
_LEAST_STEPS = 5
_LONGEST = 500
#: a line that says with which checkpoint a run goes on
_RESUMES = later(
    r"(?i)\b(?:resum\w*|restor\w*|continu\w*|checkpoint)\b[^\n]{0,60}?"
    r"(?:[\w./\-]*(?:checkpoint|ckpt|step|epoch)[-_ ]?\d{1,9}\b|[:=]\s{0,2}true\b)"
)
#: and one that says what was saved is none
_SAVES = later(r"(?i)\bsav(?:ed|ing|e)\b|\bwrit(?:ten|ing|e)\b")


class Told(NamedTuple):
    """One row: its line, the step that it tells, and its loss."""

    line: int
    step: int | None
    loss: float | None


def of_rows(rows: Iterable[MetricRow]) -> list[Told]:
    """The same of rows whose source ends in a line."""
    return [
        Told(int(row[5].rpartition(":")[2]), row[0], dict(zip(row[1], row[2], strict=True)).get("loss")) for row in rows
    ]


def of_lines(told: Iterable[ToldRows]) -> Iterator[Told]:
    """The same of the metric lines of a log."""
    for line, row, *_ in (each for rows in told for each in rows):
        yield Told(line, row.step, dict(zip(row.names, row.values, strict=True)).get("loss"))


def repeated(told: Iterable[Told], lines: Sequence[tuple[int, str]], begin: int, path: str) -> Anew | None:
    """The last of several runs of a log, where its losses are those of the first and it names a checkpoint.

    Args:
        told: the rows of all runs, in order.
        lines: (number, text) of the last run.
        begin: the line that it begins with.
        path: of the log.

    """
    losses = [each for each in told if each.loss is not None]
    first = [each.loss for each in islice((each for each in losses if each.line < begin), _LOSSES)]
    last = list(islice((each for each in losses if each.line >= begin), _LOSSES))
    if len(first) < _LOSSES or first != [each.loss for each in last] or len({*first}) < _LOSSES:
        return None
    line = _resumes(lines, begin, last[0].line, path)
    return None if line is None else Anew(line, _LOSSES)


def fallen_back(told: Sequence[Told], lines: Sequence[tuple[int, str]], path: str) -> Anew | None:
    """The first step of a log, come again behind a line that names a checkpoint; arguments as of `repeated`."""
    stepped = [each for each in told if each.step is not None]
    for before, each in pairwise(stepped):
        first, back = stepped[0].step or 0, each.step or 0
        if back <= first <= 1 and (before.step or 0) >= first + _LEAST_STEPS:
            line = _resumes(lines, before.line + 1, each.line, path)
            if line is not None:
                return Anew(line, 0)
    return None


def _resumes(lines: Sequence[tuple[int, str]], begin: int, end: int, path: str) -> Observed | None:
    """The line from `begin` on, before `end`, that says with which checkpoint a run goes on."""
    at = bisect_left(lines, begin, key=lambda line: line[0])
    for number, text in lines[at:]:
        if number >= end:
            return None
        said = text[:_LONGEST]
        if _RESUMES.search(said) and not _SAVES.search(said):
            return Observed.quoted(path, said.strip()[:300], number)
    return None

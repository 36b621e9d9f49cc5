"""What became of each failure: it ended the run, or something tells that it did not.

Each failure has one fate, and a witness: the line by which it is known. The table below is all that decides it. Its
rows are asked from the most to the least that is known of a failure; one of which nobody knows more ended the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from doctor.base.record import record
from doctor.catalogue.signature import Hit
from doctor.logs.failures.case import Case
from doctor.logs.failures.habits import Habits
from doctor.logs.failures.quotes import Quotes
from doctor.logs.failures.raised import Failure
from doctor.logs.failures.victims import failed_by_itself
from doctor.logs.lines.life import STEPS_ON
from doctor.logs.lines.lines import Line

#: a process that prints that much after an exception got over it
_QUIET_LINES = 30
#: levels of records that a program writes of what did not end it
_TOLD = frozenset("ID")


class Fate(IntEnum):
    """What became of a failure; the smaller comes first."""

    ENDED = 0
    CAUGHT = 1
    ECHO = 2
    QUOTED = 3
    WANTED = 4


class WitnessLine(NamedTuple):
    """The line by which a fate is known."""

    source: int
    line: int


@record
class Judged:
    """A failure with its fate; `row` names the row of the table that knew it."""

    failure: Failure
    fate: Fate
    row: str
    witness: WitnessLine


class Fates:
    """What became of the failures of one case.

    Args:
        case: what the logs say.
        quotes: what of it is quoted.
        lost: source -> lines with words that a signature knows as those of a process that another one took down.

    """

    def __init__(self, case: Case, quotes: Quotes, lost: Mapping[int, Sequence[int]]) -> None:
        """Judge them all."""
        self.case, self.quotes, self.lost = case, quotes, lost
        self.habits = Habits(case)
        self.judged = [self._judged(each) for each in case.failures]
        self._by_id = {id(each.failure): each for each in self.judged}

    def _judged(self, failure: Failure) -> Judged:
        for row in ROWS:
            witness = row.asks(self, failure)
            if witness is not None:
                return Judged(failure, row.fate, row.name, witness)
        return Judged(failure, Fate.ENDED, "ended", WitnessLine(failure.first.source, failure.last_line))

    def of(self, failure: Failure) -> Judged:
        """What became of a failure of the case."""
        return self._by_id[id(failure)]

    def those(self, *fates: Fate) -> list[Judged]:
        """The failures of some fates, in reading order."""
        return [each for each in self.judged if each.fate in fates]

    def of_line(self, hit: Hit) -> Fate:
        """What became of what a line tells that belongs to no failure."""
        source = self.case.source_of(hit.file)
        if hit.level in _TOLD:
            return Fate.CAUGHT
        return Fate.CAUGHT if self.progress(source, hit.line, STEPS_ON) is not None else Fate.ENDED

    def progress(self, source: int, line: int, steps: int) -> WitnessLine | None:
        """The line of progress by which a source shows so many steps after a line."""
        order = self.case.order_of(source, line)
        later = [each for each in self.case.marks.progress.get(source, ()) if each > order]
        return WitnessLine(source, abs(later[steps - 1])) if len(later) >= steps else None


class FateRow(NamedTuple):
    """A row of the table: a fate, and the line by which a failure is known to have it, None where nothing tells."""

    name: str
    fate: Fate
    asks: Callable[[Fates, Failure], WitnessLine | None]


def _at(line: Line) -> WitnessLine:
    return WitnessLine(line.source, line.number)


def _own_line(says: bool, failure: Failure) -> WitnessLine | None:
    return _at(failure.first) if says else None


def _good_end(fates: Fates, failure: Failure) -> WitnessLine | None:
    """The log of its source says later that the run ended well, or says it at all and the failure was a warning."""
    marks, success = fates.case.marks, fates.case.marks.success
    if success is None or success.source != failure.first.source:
        return None
    return _at(success) if failure.caught == "W" or marks.ended_well_after(failure.first) else None


def _asked(fates: Fates, failure: Failure) -> WitnessLine | None:
    """Somebody had stopped the run before, and another process was lost by that."""
    asked = fates.case.marks.asked
    if asked is None or asked.source != failure.first.source or asked.order >= failure.first.order:
        return None
    return None if failed_by_itself(failure) else _at(asked)


def _echoes(fates: Fates, failure: Failure) -> WitnessLine | None:
    """It says itself that another process failed."""
    low, high = sorted((failure.cause.line.number, failure.cause.last_line))
    known = (line for line in fates.lost.get(failure.first.source, ()) if low <= line <= high)
    if (line := next(known, None)) is not None:
        return WitnessLine(failure.first.source, line)
    return _own_line(not failed_by_itself(failure), failure)


def _habit(fates: Fates, failure: Failure) -> WitnessLine | None:
    """Its process caught it again and again, or lived on after it as before."""
    line = fates.habits.witness(failure)
    return WitnessLine(failure.first.source, line) if line is not None else None


def _went_on(fates: Fates, failure: Failure) -> WitnessLine | None:
    """Its program only warned of it, or the log shows steps after it.

    Five of them, for other ranks go a step or two further when one has failed; one where a record says that it was
    caught, where its process printed much more, or where it shows that it was caught and no process has a label.
    """
    case, first = fates.case, failure.first
    if failure.caught == "W":
        return _at(first)
    process = case.processes.get(failure.process) if failure.process else None
    talks = process is not None and abs(process.last.number - failure.last_line) > _QUIET_LINES
    few = talks or bool(failure.caught) or (failure.was_caught and not failure.process)
    return fates.progress(first.source, first.number, 1 if few else STEPS_ON)


HABIT = "again and again"
#: asked in this order; the first that knows counts
ROWS = (
    FateRow("no error", Fate.WANTED, lambda _, each: _own_line(each.noise or each.handled, each)),
    FateRow("stop asked for", Fate.WANTED, _asked),
    FateRow("good end", Fate.WANTED, _good_end),
    FateRow("quoted", Fate.QUOTED, lambda fates, each: _own_line(fates.quotes.failure(each), each)),
    FateRow("echo", Fate.ECHO, _echoes),
    FateRow(HABIT, Fate.CAUGHT, _habit),
    FateRow("went on", Fate.CAUGHT, _went_on),
    FateRow("thread", Fate.CAUGHT, lambda _, each: _own_line(each.thread, each)),
)

"""How a run ended, as far as exits and last lines tell."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath

from doctor.logs.failures.case import Case
from doctor.logs.failures.raised import Failure
from doctor.logs.lines.exits import Exit
from doctor.logs.lines.nature import EMPTY


def silent_ends(case: Case, victims: Collection[Failure], spoke: Collection[int | None]) -> list[Exit]:
    """Bad ends of processes that left no word of their own: it is they that the others lost."""
    aborted = any(each.cause.kind == "c++" and each.rank is None for each in victims)  # what terminate() leaves behind
    return [
        each
        for each in case.exits
        if each.rank is not None
        and each.rank not in spoke
        and not (aborted and each.signal == "SIGABRT")
        and is_bad(case, each)
    ]


def is_bad(case: Case, each: Exit) -> bool:
    """Whether a process ended as none should, before its log said that all was well."""
    if each.by_launcher or (each.code == 0 and not each.signal):
        return False
    success = case.marks.success
    if success is None or success.source != each.line.source:
        return True
    return success.order < each.line.order and not each.helper  # what reads data is killed when a run is over


def breaks_off(case: Case) -> bool:
    """Whether a log just stops: it shows a run under way and no end of it."""
    marks = case.marks
    if marks.success is not None or marks.asked is not None:
        return False
    if case.last is None or not _told(case):
        return bool(case.sources)  # there is nothing in it
    if marks.steps is not None:  # a trainer may well ask servers, or start one
        return marks.steps[0] < marks.steps[1]
    done = (place in case.finished and not case.natures.get(place) for place in _told(case))
    return not (marks.served or marks.written) and not all(done)


def end_of(case: Case) -> str:
    """What shows the end of the run, as words that a reader can check; "" where nothing that was read shows it."""
    marks, told = case.marks, _told(case)
    if line := marks.success or marks.asked:
        return f"{PurePath(line.file).name}:{line.number}"
    if case.last is None or not told:
        return ""
    if marks.steps is not None:
        return "step {} of {}".format(*marks.steps) if marks.steps[0] >= marks.steps[1] else ""
    if ended := next((each for each in case.exits if each.code == 0 and not each.signal), None):
        return f"{PurePath(ended.line.file).name}:{ended.line.number}"
    finished = all(place in case.finished and not case.natures.get(place) for place in told)
    return f"{PurePath(case.last.file).name}:{case.last.number}" if finished else ""


def _told(case: Case) -> list[int]:
    """The sources with anything in them."""
    return [place for place in range(len(case.sources)) if case.natures.get(place) != EMPTY]

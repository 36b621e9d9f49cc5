"""Failures that a program itself caught, and what ended it later.

A traceback is caught where a record carries it, or where it begins amid a program. Where labels tell processes apart,
only failures of one process are compared.
"""

from __future__ import annotations

from doctor.logs.case import Case
from doctor.logs.retries import ended, is_another_later
from doctor.logs.tracebacks import Failure, begins_amid
from doctor.logs.victims import failed_by_itself

#: slips of a program where its own code raises them: no line about the machine or the network explains one
_SLIPS = frozenset({
    "KeyError", "IndexError", "NameError", "UnboundLocalError", "TypeError", "ZeroDivisionError", "SyntaxError",
    "IndentationError",
})  # fmt: skip


def later_end(case: Case, failure: Failure) -> Failure | None:
    """The first failure of another kind that ended the same process after one that may have been caught."""
    if not _may_be_caught(failure):
        return None
    return next((each for each in case.failures if _ended_after(failure, each)), None)


def survived(case: Case, failure: Failure, end: Failure) -> bool:
    """Whether a program caught a failure, and warned of it only or got a step further, before another one ended it."""
    if not failure.chain[0].frames or not _may_be_caught(failure) or not _ended_after(failure, end):
        return False
    orders = case.marks.progress.get(failure.first.source, ())
    return failure.caught == "W" or any(failure.first.order < order < end.first.order for order in orders)


def is_slip(failure: Failure) -> bool:
    """Whether the user's own code raised what only a mistake in it raises."""
    frames = failure.cause.frames
    return bool(frames) and frames[-1].own and failure.cause.name in _SLIPS


def _may_be_caught(failure: Failure) -> bool:
    return bool(failure.caught) or not failure.end.frames or begins_amid(failure.end)


def _ended_after(failure: Failure, end: Failure) -> bool:
    return is_another_later(end, failure) and ended(end) and failed_by_itself(end)

"""Failures that a program caught, told, and tried again after, until something else ended it.

Only the program's own words tell them from the same failure of several processes, which is the cause: the line before
or behind such a traceback says that it tries again.
"""

from __future__ import annotations

import re

from doctor.logs.case import Case
from doctor.logs.tracebacks import Failure

_TIMES, _NEAR = 3, 3  # so often at least; lines around the first that are looked at
_AGAIN = re.compile(r"\bretr(?:y|ying|ies)\b|\battempts?\b|\btry(?:ing)? again\b|重试|再试", re.IGNORECASE)


def was_retried(case: Case, failure: Failure) -> bool:
    """Whether a process got over a failure again and again, and a later one of another kind reached its top."""
    if failure.times < _TIMES or reached_top(failure) or not _says_so(case, failure):
        return False
    return any(is_another_later(each, failure) and ended(each) for each in case.failures)


def is_another_later(end: Failure, failure: Failure) -> bool:
    """Whether a failure came after another one in the same process, and not because of it."""
    return (
        (end.first.source, end.process) == (failure.first.source, failure.process)
        and end.first.order > failure.first.order
        and all(raised.type != failure.cause.type for raised in end.chain)
    )


def ended(failure: Failure) -> bool:
    """Whether it reached the top of a program, and none says that it caught it."""
    return reached_top(failure) and not (failure.noise or failure.handled or failure.thread or failure.caught)


def reached_top(failure: Failure) -> bool:
    """Whether nothing of a program is left that could have caught it."""
    frames = failure.end.frames
    return bool(frames) and frames[0].at_top


def _says_so(case: Case, failure: Failure) -> bool:
    source, first = failure.first.source, failure.first.number
    lines = case.kept[source] if source < len(case.kept) else []
    near = range(first - _NEAR, failure.last_line + _NEAR + 1)
    inside = range(first, failure.cause.line.number)
    return any(number in near and number not in inside and _AGAIN.search(text[:300]) for number, text in lines)

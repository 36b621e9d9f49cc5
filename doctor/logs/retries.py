"""Failures that a program caught, told, and tried again after, until something else ended it.

Only the program's own words tell them from the same failure of several processes, which is the cause: the line before
or behind such a traceback says that it tries again.
"""

from __future__ import annotations

import re

from doctor.logs.case import Case
from doctor.logs.tracebacks import Failure, Raised

_TIMES, _NEAR = 3, 3  # so often at least; lines around the first that are looked at
_SAID, _QUOTED = 16, 200  # characters of a message by which it is told in another one
_AGAIN = re.compile(r"\bretr(?:y|ying|ies)\b|\battempts?\b|\btry(?:ing)? again\b|重试|再试", re.IGNORECASE)


def was_retried(case: Case, failure: Failure) -> bool:
    """Whether a process got over a failure again and again, and a later one of another kind reached its top."""
    if failure.times < _TIMES or reached_top(failure) or not said_near(case, failure, _AGAIN):
        return False
    return any(is_another_later(each, failure) and ended(each) for each in case.failures)


def is_another_later(end: Failure, failure: Failure) -> bool:
    """Whether a failure came after another one in the same process, and not because of it."""
    return (end.first.source, end.process) == (failure.first.source, failure.process) and is_another(end, failure)


def is_another(end: Failure, failure: Failure) -> bool:
    """Whether a failure came after another one of the same file, and neither raises nor quotes it."""
    if end.first.order <= failure.first.order:
        return False
    if any(says_the_same(one, other) for one in end.chain for other in failure.chain):
        return False
    said = _first_words(failure.cause)
    of_task = f"({failure.cause.name})"  # Ray's RayTaskError names what it passes on
    return not any(
        raised.type == failure.cause.type
        or raised.type.endswith(of_task)
        or (len(said) >= _SAID and said in raised.message)
        for raised in end.chain
    )


def says_the_same(one: Raised, other: Raised) -> bool:
    """Whether two exceptions are alike up to the end of their first line."""
    return one.type == other.type and _first_words(one) == _first_words(other)


def _first_words(raised: Raised) -> str:
    return raised.message.partition("\n")[0].strip()[:_QUOTED]


def ended(failure: Failure) -> bool:
    """Whether it reached the top of a program, and none says that it caught it."""
    return reached_top(failure) and not (failure.noise or failure.handled or failure.thread or failure.caught)


def reached_top(failure: Failure) -> bool:
    """Whether nothing of a program is left that could have caught it."""
    return failure.at_top or (bool(failure.end.frames) and failure.end.frames[0].at_top)


def said_near(case: Case, failure: Failure, words: re.Pattern[str]) -> bool:
    """Whether a line right before or behind a failure holds some words."""
    source, first = failure.first.source, failure.first.number
    lines = case.kept[source] if source < len(case.kept) else []
    near = range(first - _NEAR, failure.last_line + _NEAR + 1)
    inside = range(first, failure.cause.line.number)
    return any(number in near and number not in inside and words.search(text[:300]) for number, text in lines)

"""What a process catches again and again while it works: a verifier on odd answers, a tool that fails."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.logs.failures.case import Case
from doctor.logs.failures.ends import is_bad
from doctor.logs.failures.raised import Failure
from doctor.logs.failures.victims import failed_by_itself

#: what a process printed that often from the same frames it catches as a matter of course
_HABIT = 3


class Habits:
    """The failures of a case that are a matter of course.

    A habit is one kind of failure, its type with its frames, that one process printed three times. Only what shows no
    way to the top of its program is one: who tries three times and then gives up prints the last one from there. Where
    a process ended badly, or lost another one, nothing is a matter of course.

    Args:
        case: what the logs say.

    """

    def __init__(self, case: Case) -> None:
        """Find them."""
        self._case = case
        #: kind -> (times, first and last order in its source)
        self._known: dict[tuple[object, ...], tuple[int, int, int]] = {}
        if not any(is_bad(case, each) for each in case.exits) and all(map(failed_by_itself, case.failures)):
            self._count(case.failures)

    def _count(self, failures: Iterable[Failure]) -> None:
        several = {_kind(each) for each in failures if not each.times}  # printed from other frames too
        for each in failures:
            kind = _kind(each)
            if each.process and kind not in several and (each.was_caught or each.of_library):
                last = self._last(each)
                times, first, before = self._known.get(kind, (0, each.first.order, last))
                self._known[kind] = times + each.times, first, max(before, last)

    def _last(self, failure: Failure) -> int:
        return self._case.order_of(failure.first.source, failure.latest or failure.first.number)

    def witness(self, failure: Failure) -> int | None:
        """The line by which it is known that the process caught a failure; None for one that is no habit.

        That is the last time of a habit, or a habit that the process had before the failure and after it.
        """
        kind = _kind(failure)
        if kind not in self._known:
            return None
        times, _, last = self._known[kind]
        if times >= _HABIT:
            return abs(last)
        mine = (known for other, known in self._known.items() if other[:2] == kind[:2] and known[0] >= _HABIT)
        around = [ends for _, begins, ends in mine if begins < last < ends]
        return abs(max(around)) if around else None


def _kind(failure: Failure) -> tuple[object, ...]:
    frames = tuple((each.path, each.function, each.line) for raised in failure.chain for each in raised.frames)
    return failure.first.source, failure.process, failure.cause.type, frames

"""Judges reward-not-repeatable (RLX1239), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: rows, and rewards that are other ones, at least: of few equal ones it cannot be said to whom they belong
_ROWS, _UNLIKE = 4, 3
#: the share of the rows that get the reward of another one
_MOVED = 0.5
#: numbers that differ by less are the same: floats summed in another order
_SAME = 1e-6
#: the same of sums whose order depends on the rows beside: padding
_ROUGHLY = 1e-4


def of_rehearsal(function: str, place: str, first: list[float | None], second: list[float | None]) -> Finding | None:
    """Judge two calls with the same arguments.

    Args:
        function: its name.
        place: file and line.
        first: what the first call gave, one number a completion.
        second: the second call.

    """
    differing = [abs((one or 0.0) - (other or 0.0)) for one, other in zip(first, second, strict=False)]
    if len(first) != len(second) or not differing or max(differing) <= _SAME:
        return None
    pair = next((one, other) for one, other in zip(first, second, strict=True) if one != other)
    return found(
        PROBLEM, MESSAGE,
        evidence=(
            Observed.quoted(place or function, f"{pair[0]} at first, {pair[1]} the second time"),
        ),
        function=function, rows=len(first), difference=f"{max(differing):.3g}",
    )  # fmt: skip


def of_turned_rows(
    function: str, place: str, first: Sequence[float | None], turned: Sequence[float | None]
) -> Finding | None:
    """Judge a call with the same rows from the last to the first: the same rewards, but of other rows.

    A reward that compares the rows of a batch gives others then, or follows its rows; of neither anything is said.

    Args:
        function: its name.
        place: file and line.
        first: what the first call gave, one number a completion.
        turned: what the other call gave, in the order of the first one.

    """
    one, other = ([each for each in values if each is not None] for values in (first, turned))
    if (
        len(one) != len(first)
        or len(other) != len(one)
        or len(one) < _ROWS
        or len({round(each, 6) for each in one}) < _UNLIKE
    ):
        return None
    same = all(abs(a - b) <= _ROUGHLY * max(1.0, abs(a)) for a, b in zip(sorted(one), sorted(other), strict=True))
    moved = [(a, b) for a, b in zip(one, other, strict=True) if abs(a - b) > _ROUGHLY * max(1.0, abs(a))]
    if not same or len(moved) < _MOVED * len(one):
        return None
    text = f"{moved[0][0]:.6g} at first, {moved[0][1]:.6g} with the rows from the last to the first"
    return found(
        PROBLEM, TOML["turned"], evidence=(Observed.quoted(place or function, text),), function=function,
        count=len(moved), rows=len(one),
    )  # fmt: skip

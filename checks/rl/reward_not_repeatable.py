"""Judges reward-not-repeatable (RLX1239), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: numbers that differ by less are the same: floats summed in another order
_SAME = 1e-6


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

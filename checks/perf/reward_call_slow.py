"""Judges reward-call-slow (PRF5034), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: seconds of one call from which on it is worth a word: a generation of a run takes about as long
_SLOW_S = 10.0


def of_rehearsal(function: str, place: str, seconds: float, rows: int) -> Finding | None:
    """Judge the median call of one function.

    Args:
        function: its name.
        place: file and line.
        seconds: of the call.
        rows: completions that it scored.

    """
    if seconds < _SLOW_S:
        return None
    return found(
        PROBLEM, MESSAGE, evidence=(Observed.quoted(place or function, f"{rows} completions in {seconds:.1f} s"),),
        function=function, seconds=f"{seconds:.0f}", rows=rows, hours=f"{seconds * 1000 / 3600:.1f} h",
    )  # fmt: skip

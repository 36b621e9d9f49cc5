"""Judges weights-do-not-follow-the-rate (RLX4202), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
STILL = TOML["still"]
MOVED = TOML["moved"]
ZERO = TOML["zero"]


def of_rehearsal(
    moved: Sequence[str], still: int, rates: Sequence[float], steps: int, *, count: int, null: bool = False,
    used: float | None = None, again: bool = False,
) -> Finding | None:  # fmt: skip
    """Judge which parameters an update changed.

    Args:
        moved: names of some that it changed.
        still: how many it left as they were.
        rates: learning rates of the optimizer's groups, as they were set at the end.
        steps: optimizer steps between the two looks.
        count: how many it changed.
        null: the rate was set to 0; else a schedule may just have come there.
        used: the largest rate that any step was made with; None where that was not seen. A warm-up from 0 is above it
            in its second step.
        again: in the second start of a loop, from what it saved.

    """
    if used == 0 and not null and steps > 1 and not count and still:
        evidence = (Observed.quoted("rehearsal", f"{still} parameters compared before and after {steps} steps"),)
        return found(PROBLEM, ZERO, confidence=LIKELY, evidence=evidence, steps=steps)
    if not rates:
        return None
    rate = max(rates)
    if rate > 0 and not null and count == 0 and still:
        evidence = (Observed.quoted("rehearsal", f"{still} parameters compared before and after {steps} steps"),)
        message = TOML["resumed"] if again else STILL
        return found(PROBLEM, message, evidence=evidence, steps=steps, rate=f"{rate:.3g}", count=still)
    if null and (rate if used is None else used) == 0 and count:
        evidence = (Observed.quoted("rehearsal", ", ".join(moved)),)
        return found(PROBLEM, MOVED, evidence=evidence, count=count, parameter=moved[0])
    return None

"""Words for adapter-not-in-engine (WIT6209), which stand in the TOML beside it; judged by the witness.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.words import words_of
from doctor.oracles.verdict import Verdict

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: who tells it
_SOURCE = "witness"


def dropped(step: int, effect: float, agreement: Verdict) -> Finding:
    """The engine answers as the model without its adapter, which makes a difference of `effect` a token."""
    return found(
        PROBLEM, TOML["dropped"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, agreement.reason),), step=step, effect=f"{effect:.2g}",
    )  # fmt: skip


def kept(step: int, past: int, agreement: Verdict) -> Finding:
    """The engine answers as the adapter did at an earlier step."""
    return found(
        PROBLEM, TOML["kept"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, agreement.reason),), step=step, past=past,
    )  # fmt: skip


def other(step: int, agreement: Verdict) -> Finding:
    """The model below the adapter is the same on both sides, and with the adapter it is not."""
    return found(
        PROBLEM, TOML["other"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, agreement.reason),), step=step, gap=f"{agreement.value:.2g}",
    )  # fmt: skip

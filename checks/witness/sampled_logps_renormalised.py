"""Words for sampled-logps-renormalised (WIT1675), which stand in the TOML beside it; judged by the witness.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.words import words_of
from doctor.oracles.verdict import Verdict

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: who tells it
_SOURCE = "witness"


def cut(step: int, verdict: Verdict) -> Finding:
    """The engine gives nearly all sampled tokens more than the trainer."""
    return found(
        PROBLEM, TOML["main"], severity=WARNING, confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, share=f"{verdict.value:.0%}",
        cut=f"{1 - verdict.details['kept_mass']:.0%}",
    )  # fmt: skip


def of_other_temperature(step: int, verdict: Verdict) -> Finding:
    """The engine's log probabilities lie on a line through the trainer's, with another slope."""
    return found(
        PROBLEM, TOML["temperature"], severity=WARNING, confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, slope=f"{verdict.value:.2f}",
    )  # fmt: skip

"""Words for engine-cache-outlives-weights (WIT1146), which stand in the TOML beside it; judged by the witness.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.words import words_of
from doctor.oracles.verdict import Verdict

if TYPE_CHECKING:
    from doctor.catalogue.signature import Hits

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: who tells it
_SOURCE = "witness"


def explain(hits: Hits) -> Finding:
    """A cache that was not emptied; a log seldom tells whether weights were updated then, so that it is a warning."""
    return replace(TOML.finding(hits), severity=WARNING)


def prefix_cache(step: int, verdict: Verdict) -> Finding:
    """The engine continues otherwise with its prefix cache than without."""
    return _found("prefix", step, verdict)


def decode_state(step: int, verdict: Verdict) -> Finding:
    """The engine gives other log probabilities while it generates than in a prefill of the same tokens."""
    return _found("decode", step, verdict)


def either(step: int, verdict: Verdict) -> Finding:
    """The same of an engine that cannot be asked past its prefix cache."""
    return _found("either", step, verdict)


def _found(message: str, step: int, verdict: Verdict) -> Finding:
    return found(
        PROBLEM, TOML[message], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, gap=f"{verdict.value:.2g}",
    )  # fmt: skip

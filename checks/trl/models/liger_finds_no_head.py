"""Judges liger-finds-no-head (TRL053), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """The last of the chain names the model itself; without a function of Liger's nothing is said."""
    if not hits.of(0) and not (hits.of(1) and hits.of(2)):
        return None
    model = (hits.of(0) or hits.of(1))[-1].groups["model"]
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=model)

"""Judges prompts-beyond-engine (TRL056), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Only both together: the warning alone is harmless, the exception alone has other causes."""
    if not (hits.of(0) and hits.of(1)):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        length=hits.get("length"), limit=hits.get("limit"),
    )  # fmt: skip

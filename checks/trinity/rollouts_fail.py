"""Judges trinity-rollouts-fail (TRI010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """A few exceptions are normal; the whole group is not."""
    if got := hits.get("got"):
        numbers = f"{got} of {hits.get('wanted')}"
        return found(
            PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, numbers=numbers
        )
    lost = next((hit for hit in hits.of(1) if int(hit.groups["failed"]) >= int(hit.groups["runs"])), None)
    if lost is None:
        return None
    numbers = f"{lost.groups['failed']} of {lost.groups['runs']}"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), numbers=numbers, confidence=LIKELY)

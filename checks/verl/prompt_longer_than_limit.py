"""Judges verl-prompt-longer-than-limit (VRL015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
JOINED = TOML["joined"]


def explain(hits: Hits) -> Finding:
    """The data set's own words, or two lengths that could not be joined."""
    joined = not hits.of(0) and not hits.of(2)
    return found(
        PROBLEM,
        JOINED if joined else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if joined else CONFIRMED,
        length=hits.get("length"),
        limit=hits.get("limit"),
    )

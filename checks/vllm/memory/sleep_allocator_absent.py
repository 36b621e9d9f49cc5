"""Judges sleep-allocator-absent (VLL114), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
ASCEND = TOML["ascend"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """The name of the allocator tells the platform."""
    return found(
        PROBLEM,
        ASCEND if hits.get("allocator") == "camem" else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )

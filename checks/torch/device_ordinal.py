"""Judges cuda-device-ordinal (TOR014), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
CHANGED = TOML["changed"]


def explain(hits: Hits) -> Finding:
    """A number that was never visible, or one that is not any more."""
    return found(
        PROBLEM,
        CHANGED if hits.of(2) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )

"""Judges ray-node-not-started (RAY017), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_LATE = TOML["log_late"]


def explain(hits: Hits) -> Finding:
    """A node of another address or container, or one of this machine that was too slow."""
    elsewhere = hits.of(0) or hits.of(1) or hits.of(5)
    return found(
        PROBLEM,
        LOG_MESSAGE if elsewhere else LOG_MESSAGE_LATE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )

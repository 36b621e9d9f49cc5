"""Judges ray-agent-failed (RAY018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_SUBMIT = TOML["log_submit"]
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_SILENT = TOML["log_silent"]


def explain(hits: Hits) -> Finding:
    """A node that ended, an agent that was not reached, or jobs that nobody takes."""
    if not hits.of(0) and not hits.of(1):
        return found(PROBLEM, LOG_MESSAGE_SILENT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    ended = not hits.of(1)
    return found(
        PROBLEM,
        LOG_MESSAGE if ended else LOG_MESSAGE_SUBMIT,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
    )

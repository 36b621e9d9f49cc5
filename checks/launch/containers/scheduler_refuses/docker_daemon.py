"""Judges LCH4907/docker_daemon, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SILENT = TOML["silent"]
REFUSED = TOML["refused"]


def explain(hits: Hits) -> Finding:
    """No daemon, or no right to use it."""
    refused = hits.get("refused") or "ermission" in (hits.get("cause") or "")
    return found(
        PROBLEM,
        REFUSED if refused else SILENT,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
    )

"""Judges DAT1825/conversation, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
FACTORY = TOML["factory"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Each framework names its columns in a place of its own."""
    message = FACTORY if hits.of(1) else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, column=hits.get("column")
    )

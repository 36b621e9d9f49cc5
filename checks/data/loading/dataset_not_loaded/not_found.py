"""Judges DAT1752/not_found, a row of dataset-not-loaded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_SAVED = TOML["log_saved"]


def explain(hits: Hits) -> Finding | None:
    """Tell a folder of `save_to_disk` from one that is not there."""
    name = hits.get("name")
    message = LOG_MESSAGE if name else LOG_MESSAGE_SAVED
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), name=(name or "").rstrip("."))

"""Judges batch-not-made (DAT024), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
LOG_MESSAGE = TOML["log"]
UNPADDED = TOML["unpadded"]


def explain(hits: Hits) -> Finding | None:
    """Name the column where the message, or its next line, does."""
    if hits.first.signature >= len(SIGNATURES) - 2:
        return found(PROBLEM, UNPADDED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    column = hits.get("column") or hits.get("feature") or "labels"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), column=column, confidence=LIKELY)

"""Judges adapter-weights-not-loaded (CKP031), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
RENAMED = TOML["renamed"]
LOG_CONFIDENCE = TOML.confidence


def explain(hits: Hits) -> Finding:
    """The Trainer's list is that of an empty file, PEFT's mostly that of other names."""
    missing = hits.get("missing")
    if missing is None:
        return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LOG_CONFIDENCE)
    short = ".".join(missing.split(".")[-5:])
    return found(
        PROBLEM, RENAMED, where=hits.where(), evidence=hits.evidence(), confidence=LOG_CONFIDENCE, missing=short
    )

"""Judges response-template-not-found (DAT055), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
UNSLOTH = TOML["unsloth"]


def explain(hits: Hits) -> Finding:
    """An exception ends the run; a warning leaves the row out."""
    stopped = hits.of(0) or hits.of(2)
    if hits.of(2) or hits.of(3):
        return found(
            PROBLEM, UNSLOTH, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            severity=ERROR if stopped else WARNING,
        )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        severity=ERROR if stopped else WARNING, what=hits.get("what"),
    )  # fmt: skip

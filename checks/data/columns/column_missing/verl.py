"""Judges DAT1825/verl, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_RAW = TOML["log_raw"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """With the column."""
    raw = hits.get("raw")
    return found(
        PROBLEM,
        LOG_MESSAGE_RAW if raw else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        column=hits.get("column"),
        raw=raw,
    )

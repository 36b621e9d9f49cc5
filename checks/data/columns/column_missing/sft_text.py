"""Judges DAT1825/sft_text, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Name the column that was asked for, where one was."""
    column = hits.get("column")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        column=column,
    )  # fmt: skip

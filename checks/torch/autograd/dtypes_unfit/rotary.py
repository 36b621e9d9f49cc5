"""Judges TOR3298/rotary, a row of dtypes-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
CAST = TOML["cast"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Only float32 beside a half precision is the cast of a release; two halves are the user's settings."""
    given, tables = (hits.first.groups[name] for name in ("given", "tables"))
    return found(
        PROBLEM, CAST if given == "float32" else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, given=given, tables=tables,
    )  # fmt: skip

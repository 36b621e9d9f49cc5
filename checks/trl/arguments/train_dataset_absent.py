"""Judges train-dataset-absent (TRL039), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Say what it was instead, where the exception does."""
    kind = hits.get("kind") or "None"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind)

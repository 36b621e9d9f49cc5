"""Judges notebook-launcher-refused (ACC016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
NUMBER = TOML["number"]
TOUCHED = TOML["touched"]


def explain(hits: Hits) -> Finding | None:
    """Two things keep it from starting."""
    message = NUMBER if hits.get("number") else TOUCHED
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())

"""Judges keyword-with-hyphen (PYT049), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """With the name as it should be written."""
    name = hits.get("name") or ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, name=name,
        function=hits.get("function") or "", underscored=name.replace("-", "_"),
    )  # fmt: skip

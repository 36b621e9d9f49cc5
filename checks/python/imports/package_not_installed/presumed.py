"""Judges PYT3270/presumed, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """A bare sentence counts only below TRL's own words, which say that it was TRL's import."""
    module = next((hit.groups["module"] for hit in hits.of(0)), "")
    if not module and hits.of(1):
        below = {hit.line + 1 for hit in hits.of(1)}
        module = next((hit.groups["module"] for hit in hits.of(2) if hit.line in below), "")
    if not module:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, module=module)

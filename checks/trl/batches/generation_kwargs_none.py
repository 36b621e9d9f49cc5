"""Judges generation-kwargs-none (TRL049), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Only with TRL's own line in the traceback: the exception alone has many causes."""
    if not hits.of(0) or not hits.of(1):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())

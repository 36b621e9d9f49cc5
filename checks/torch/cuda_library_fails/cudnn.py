"""Judges TOR4959/cudnn, a row of cuda-library-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
NO_PLAN = TOML["no_plan"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """A status, or no algorithm at all."""
    status = hits.get("status")
    return found(
        PROBLEM, LOG_MESSAGE if status else NO_PLAN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        status=status or "",
    )  # fmt: skip

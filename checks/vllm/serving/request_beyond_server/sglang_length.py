"""Judges VLL5449/sglang_length, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
POOL = TOML["pool"]


def explain(hits: Hits) -> Finding:
    """With both lengths."""
    return found(
        PROBLEM,
        POOL if hits.of(3) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        asked=hits.get("asked") or "",
        most=hits.get("most") or "",
    )

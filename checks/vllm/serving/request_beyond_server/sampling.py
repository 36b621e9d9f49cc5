"""Judges VLL5449/sampling, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
GREEDY = TOML["greedy"]
ROOM = TOML["room"]
BOUNDS = TOML["bounds"]


def explain(hits: Hits) -> Finding:
    """Several greedy answers, no room for an answer, or another parameter outside of its bounds."""
    message = GREEDY if hits.get("greedy") else ROOM if hits.get("room") else BOUNDS
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        name=hits.get("name") or "",
        value=(hits.get("value") or "").rstrip("."),
    )

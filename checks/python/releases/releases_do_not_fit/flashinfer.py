"""Judges PYT0301/flashinfer, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
PARTS = TOML["parts"]
CALLED = TOML["called"]


def explain(hits: Hits) -> Finding:
    """Two packages of one library, or library and engine."""
    part = hits.get("part")
    return found(
        PROBLEM,
        PARTS if part else CALLED,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if part else LIKELY,
        part=part or "",
        theirs=hits.get("theirs") or "",
        own=hits.get("own") or "",
    )

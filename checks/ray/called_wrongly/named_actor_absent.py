"""Judges RAY7273/named_actor_absent, a row of called-wrongly; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
TRINITY = TOML["trinity"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Trinity-RFT has names of its own for its actors, and its frames show it."""
    trinity = any("trinity/" in frame.replace("\\", "/") for hit in hits for frame in hit.frames)
    return found(
        PROBLEM,
        TRINITY if trinity or "trinity-rft" in hits.versions else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        name=hits.get("name"),
    )

"""Judges VLL9193/quantized, a row of parallel-size-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """With size of the slice and of the group where told."""
    size, tile = hits.get("size"), hits.get("tile")
    told = size and tile
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        told=told,
        size=size,
        tile=tile,
    )

"""Judges ray-object-store-full (RAY013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
DISK = TOML["disk"]


def explain(hits: Hits) -> Finding:
    """With the size of the object where told; a full disk is another matter than a full store."""
    if hits.of(2) and not (hits.of(0) or hits.of(1)):
        return found(PROBLEM, DISK, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    size = next((f"{value / 2**30:.1f} GiB" for value in hits.ints("size") if value >= 2**20), "")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        size=size,
    )

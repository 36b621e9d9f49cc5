"""Judges nccl-duplicate-gpu (NCC012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
_SHARED = TOML["shared"]


def explain(hits: Hits) -> Finding:
    """NCCL names the ranks up to 2.29 only."""
    if not hits.of(0):
        return found(PROBLEM, _SHARED, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        one=hits.get("one"), two=hits.get("two"), device=hits.get("device"),
    )  # fmt: skip

"""Judges cache-fills-under-checkpointing (TRF048), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Only a key length of exactly twice the mask's tells of a cache; other sizes are another mistake."""
    keys, mask = int(hits.get("keys") or 0), int(hits.get("mask") or 0)
    if not mask or keys != 2 * mask:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, keys=keys, mask=mask
    )

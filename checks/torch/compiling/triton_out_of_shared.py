"""Judges triton-out-of-shared (TOR021), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """A tuner of block sizes logs those that do not fit, and takes others: only an exception proves anything."""
    raised = any(hit.frames or "OutOfResources" in hit.text for hit in hits)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED if raised else LIKELY,
        need=hits.get("need"), limit=hits.get("limit"),
    )  # fmt: skip

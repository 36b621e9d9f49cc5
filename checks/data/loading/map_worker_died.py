"""Judges map-worker-died (DAT029), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """With the number of processes where the progress bar tells it."""
    if not hits.of(0):
        return None
    processes = hits.of(1)[-1].groups["processes"] if hits.of(1) else None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        processes=processes,
    )  # fmt: skip

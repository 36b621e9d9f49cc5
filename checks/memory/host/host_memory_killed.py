"""Judges host-memory-killed (MEM017), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
WORKER = TOML["worker"]


def explain(hits: Hits) -> Finding:
    """SIGKILL may come from a person, too, where only PyTorch speaks of it."""
    sure = any(not each.groups.get("worker") for each in hits)
    return found(
        PROBLEM, LOG_MESSAGE if sure else WORKER, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if sure else LIKELY,
    )  # fmt: skip

"""Judges built-without-nccl (TOR043), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NONE = TOML["log_none"]


def explain(hits: Hits) -> Finding:
    """One back end is missing, or all of it."""
    first = hits.first
    if name := first.groups.get("name"):
        return found(
            PROBLEM, LOG_MESSAGE_NONE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name
        )
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        backend=first.groups["backend"],
    )  # fmt: skip

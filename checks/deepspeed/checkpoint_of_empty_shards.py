"""Judges deepspeed-checkpoint-of-empty-shards (DSP022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_HERE = TOML["log_here"]


def explain(hits: Hits) -> Finding | None:
    """Say which side is empty."""
    message = LOG_MESSAGE if hits.get("saved") else LOG_MESSAGE_HERE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, weight=hits.get("weight")
    )  # fmt: skip

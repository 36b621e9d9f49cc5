"""Judges sglang-pool-too-small (MEM022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_SERVING = TOML["log_serving"]
LOG_MESSAGE_UNBALANCED = TOML["log_unbalanced"]


def explain(hits: Hits) -> Finding:
    """At the start, while serving, or because of another process."""
    message = LOG_MESSAGE
    if hits.get("other"):
        message = LOG_MESSAGE_UNBALANCED
    elif hits.get("phase") or any(hit.signature == 1 for hit in hits):
        message = LOG_MESSAGE_SERVING
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

"""Judges nvshmem-not-ready (NCC032), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_RANKS = TOML["log_ranks"]


def explain(hits: Hits) -> Finding | None:
    """By the transport, or by the sockets of the first exchange."""
    if all(hit.groups.get("uid") for hit in hits):
        return None
    transport = any(hit.signature < _FAILED for hit in hits)
    message = LOG_MESSAGE_RANKS if hits.get("uid") and not transport else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)


_FAILED = 3  # position of the words that do not name the transport

"""Judges nvlink-uncorrectable (GPU015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_PEER = TOML["log_peer"]


def explain(hits: Hits) -> Finding:
    """An error of the link itself is the hardware's; an access that fails may be the program's."""
    link = hits.of(0)
    return found(
        PROBLEM, LOG_MESSAGE if link else LOG_MESSAGE_PEER, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if link else LIKELY,
    )  # fmt: skip

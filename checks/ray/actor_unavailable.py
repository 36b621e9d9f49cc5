"""Judges ray-actor-unavailable (RAY021), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_HEAD = TOML["log_head"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """An address of the head that only its own machine can use is the usual reason where nodes are several."""
    address = hits.get("address")
    return found(
        PROBLEM,
        LOG_MESSAGE_HEAD if address else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        address=address or "",
        commands=("ray status",),
    )

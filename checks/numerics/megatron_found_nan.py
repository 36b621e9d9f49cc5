"""Judges megatron-found-nan (NUM013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_RANK = TOML["log_rank"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Where it was found, as far as the message tells."""
    rank = hits.get("rank")
    return found(
        PROBLEM,
        LOG_MESSAGE_RANK if rank else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        at=rank or "",
        node=hits.get("node") or "",
        device=hits.get("device") or "",
        iteration=hits.get("iteration") or "",
        value=hits.get("value") or "NaN",
    )

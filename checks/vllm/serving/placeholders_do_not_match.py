"""Judges placeholders-do-not-match (VLL046), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_LIMIT = TOML["log_limit"]


def explain(hits: Hits) -> Finding | None:
    """A limit is another matter than a mismatch."""
    most = hits.get("most")
    return found(
        PROBLEM,
        LOG_MESSAGE_LIMIT if most else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        kind=hits.get("kind") or "item",
        most=most,
        confidence=CONFIRMED if most else LIKELY,
    )

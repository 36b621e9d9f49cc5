"""Judges memory-refused-to-kernel (MEM031), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
UNSEEN = TOML["unseen"]


def explain(hits: Hits) -> Finding | None:
    """Proved by torch's own line; the exception alone makes it likely."""
    asked, total, free = (hits.get(each) for each in ("asked", "total", "free"))
    return found(
        PROBLEM,
        LOG_MESSAGE if asked else UNSEEN,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if asked else LIKELY,
        asked=asked or "",
        call=hits.get("call") or "",
        total=total,
        free=free,
    )

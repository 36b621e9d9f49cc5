"""Judges prompt-fills-length (TRF041), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Give both lengths, or by how much the prompt is too long."""
    room, length, limit = hits.get("room"), hits.get("length"), hits.get("limit")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        length=length, limit=limit, over=max(-int(room or 0), 0),
    )  # fmt: skip

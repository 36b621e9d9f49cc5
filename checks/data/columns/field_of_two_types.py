"""Judges field-of-two-types (DAT032), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
CAST = TOML["cast"]


def explain(hits: Hits) -> Finding | None:
    """Name both types, and the column where Arrow does."""
    if all(hit.signature == 4 for hit in hits):
        return None
    column = hits.get("column")
    first, second = hits.get("first") or "", hits.get("second") or ""
    if kind := hits.get("cast"):
        return found(PROBLEM, CAST, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, kind=f"`{kind}`")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        first=f"`{first}`", second=f"`{second}`", column=column,
        nested=second == "non-list",
    )  # fmt: skip

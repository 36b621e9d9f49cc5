"""Judges image-tokens-do-not-match (TRF035), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
POSITIONS = TOML["positions"]
EMPTY = TOML["empty"]
NONE = TOML["none"]
CUT = TOML["cut"]
WRITTEN = TOML["written"]


def explain(hits: Hits) -> Finding:
    """Too many were written, none were never there, fewer were cut."""
    if hits.get("empty"):
        return found(PROBLEM, EMPTY, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if positions := hits.get("positions"):
        return found(
            PROBLEM, POSITIONS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            positions=positions, ids=hits.get("ids"),
        )  # fmt: skip
    tokens = int(hits.get("tokens") or hits.get("places") or 0)
    features = int(hits.get("features") or hits.get("values") or 0)
    message = NONE if tokens == 0 else CUT if tokens < features else WRITTEN
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        kind=(hits.get("kind") or "image").lower(), tokens=tokens, features=features,
    )  # fmt: skip

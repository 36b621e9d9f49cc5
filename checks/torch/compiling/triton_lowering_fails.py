"""Judges triton-lowering-fails (TOR037), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Name the release and the card where the log does."""
    if not hits.of(0):
        return None
    version, card = hits.versions.get("triton") or hits.get("triton"), hits.get("gpu")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        version=f" {version}" if version else "", card=card,
    )  # fmt: skip

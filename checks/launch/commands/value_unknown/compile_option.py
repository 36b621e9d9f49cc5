"""Judges LCH0284/compile_option, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Unsloth, the usual one, comes in two packages and keeps what it compiled."""
    unsloth = any("nsloth" in frame for hit in hits for frame in hit.frames)
    installed = hits.versions.get("torch")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
        version=f" {installed}" if installed else "",
        unsloth=unsloth,
    )  # fmt: skip

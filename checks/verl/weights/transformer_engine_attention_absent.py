"""Judges transformer-engine-attention-absent (VRL039), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found, joined
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """With the reason where the debug lines stand in the log."""
    if not hits.of(0):
        return None
    seen = {name: hits.get(name) for name in ("flash", "mla", "variable")}
    reasons = [TOML.phrase(f"reason.{name}", **seen) for name, value in seen.items() if value]
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, flash=seen["flash"],
        reason=joined(reasons),
    )  # fmt: skip

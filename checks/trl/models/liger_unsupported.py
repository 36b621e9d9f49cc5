"""Judges liger-unsupported (TRL050), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PART = TOML["part"]


def explain(hits: Hits) -> Finding:
    """All of Liger is refused, or one of its parts."""
    key, what = hits.get("key"), hits.get("what")
    message = LOG_MESSAGE if what else PART
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), key=key or "?",
        what=(what or "").strip(" .`'"),
    )  # fmt: skip

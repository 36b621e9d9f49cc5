"""Judges RAY9660/setup, a row of runtime-environment-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
GONE = TOML["gone"]
UPLOAD = TOML["upload"]


def explain(hits: Hits) -> Finding:
    """A package that is not there, one that was not sent, or what its setup ran into."""
    message = hits.choice({"gone": GONE, "uploaded": UPLOAD}, LOG_MESSAGE)
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if message is LOG_MESSAGE else LIKELY,
        gone=hits.get("gone") or "", uploaded=hits.get("uploaded") or "",
    )  # fmt: skip

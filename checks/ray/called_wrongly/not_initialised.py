"""Judges RAY7273/not_initialised, a row of called-wrongly; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """A breakpoint is told as such: Ray takes it over where its debugger is on."""
    broken = any("debug" in frame or "rpdb" in frame for frame in hits.first.frames)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        broken=broken,
    )  # fmt: skip

"""Judges memory-saver-not-loaded (MEM027), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_COMMANDS = TOML.commands
LOG_MESSAGE = TOML["log"]
RELEASE = TOML["release"]


def explain(hits: Hits) -> Finding:
    """A release of another time, or a library that is not loaded."""
    if name := hits.get("name"):
        return found(PROBLEM, RELEASE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, commands=LOG_COMMANDS
    )

"""Judges TOR3150/not_reachable, a row of amd-gpu-unusable; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
GUESSED = TOML["guessed"]


def explain(hits: Hits) -> Finding:
    """What unsloth guesses is no sign of what the driver lacks."""
    message = GUESSED if hits.first.groups.get("unsloth") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

"""Judges memory-changed-while-profiling (VLL049), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SLEPT = TOML["slept"]
UNTOUCHED = TOML["untouched"]


def explain(hits: Hits) -> Finding:
    """While the engine started, or when it was put to sleep; equal figures mean that nothing was loaded there."""
    before = hits.first.groups.get("before")
    if before and before == hits.first.groups.get("after"):
        return found(PROBLEM, UNTOUCHED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    slept = hits.get("slept")
    return found(
        PROBLEM, SLEPT if slept else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if slept else CONFIRMED, commands=("nvidia-smi",),
    )  # fmt: skip

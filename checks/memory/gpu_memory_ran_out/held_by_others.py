"""Judges MEM6839/held_by_others, a row of gpu-memory-ran-out; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.memory._oom import held_by_others

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Only where the figures tell it."""
    held = held_by_others(hits)
    if held is None:
        return None
    others, own, total = (f"{each:.1f}" for each in held)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        others=others, own=own, total=total, commands=("nvidia-smi",),
    )  # fmt: skip

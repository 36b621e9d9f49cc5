"""Judges liger-returns-no-logits (TRL069), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Only where the line that raised reads logits, or TRL's supervised trainer raised, which reads nothing else so."""
    first = hits.first
    own = bool(first.frames) and "sft_trainer.py:" in first.frames[-1]
    if "logits" not in first.code and not own:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

"""Judges gradients-unscaled-twice (ACC022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LIBRARY = TOML["library"]
OWN = TOML["own"]


def explain(hits: Hits) -> Finding:
    """Tell the Trainer of Transformers from a loop of the user's own."""
    trainer = any("transformers/trainer.py:" in each.replace("\\", "/") for each in hits.first.frames)
    return found(PROBLEM, LIBRARY if trainer else OWN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

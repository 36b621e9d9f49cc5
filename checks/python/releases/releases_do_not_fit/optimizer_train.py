"""Judges PYT0301/optimizer_train, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: Accelerate's wrapper, or the Trainer's own call where the optimizer is not wrapped
_ASKS = r"accelerate[\\/]optimizer\.py:|transformers[\\/]trainer\.py:"


def explain(hits: Hits) -> Finding | None:
    """Only where the call itself raised: models, judges and reward functions below the Trainer have modes, too."""
    first = hits.first
    of_trainer = "trainer.py:" in first.frames[-1]
    if not re.search(_ASKS, first.frames[-1]) or (of_trainer and first.code and "optimizer" not in first.code):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), optimizer=first.groups["optimizer"],
        mode=first.groups["mode"],
    )  # fmt: skip

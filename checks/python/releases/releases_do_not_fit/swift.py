"""Judges PYT0301/swift, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_SWIFT = r"swift[\\/](?:trainers|rlhf_trainers|llm[\\/]train|pipelines|arguments|plugin)[\\/]"


def explain(hits: Hits) -> Finding | None:
    """Only what fails in ms-swift's own frames; a plugin of the user, a collator or a model is another matter."""
    frames = [frame for frame in hits.first.frames if not re.search(r"torch[\\/]nn[\\/]modules", frame)]
    if not frames or not re.search(_SWIFT, frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name")
    )

"""Judges state-before-accelerator (ACC025), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NONE_MADE = TOML["none_made"]


_MADE = later(r"accelerate[\\/]accelerator\.py:__init__$")


def explain(hits: Hits) -> Finding:
    """Tell the constructor itself from helpers that are used without one."""
    made = any(_MADE.search(frame) for frame in hits.first.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE if made else NONE_MADE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if made else LIKELY,
    )

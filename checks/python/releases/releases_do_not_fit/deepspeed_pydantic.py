"""Judges PYT0301/deepspeed_pydantic, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_QUOTED = 1  # position of a pattern; pip does not say there which package it builds


def explain(hits: Hits) -> Finding:
    """Certain where DeepSpeed's own frames are seen."""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if hits.first.signature == _QUOTED else CONFIRMED,
        commands=("pip install -U 'deepspeed>=0.12'",),
    )  # fmt: skip

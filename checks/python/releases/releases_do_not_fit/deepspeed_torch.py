"""Judges PYT0301/deepspeed_torch, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Each name left DeepSpeed in a release of its own."""
    six = hits.get("six")
    minimum = "0.9.0" if six else "0.14.4"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"pip install -U 'deepspeed>={minimum}'",),
        name=six or hits.get("name"),
        minimum=minimum,
    )

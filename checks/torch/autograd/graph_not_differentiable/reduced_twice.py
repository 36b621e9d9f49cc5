"""Judges TOR8942/reduced_twice, a row of graph-not-differentiable; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """ZeRO-3's assertion does not name the parameter."""
    name = hits.get("parameter")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        name=name,
    )

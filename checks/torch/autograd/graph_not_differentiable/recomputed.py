"""Judges TOR8942/recomputed, a row of graph-not-differentiable; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PARTITIONED = TOML["partitioned"]


def explain(hits: Hits) -> Finding | None:
    """Tensors of no elements are weights that were partitioned again."""
    message = PARTITIONED if hits.get("empty") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

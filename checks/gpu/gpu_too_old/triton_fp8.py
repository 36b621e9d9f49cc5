"""Judges GPU7876/triton_fp8, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
RECIPE = TOML["recipe"]


def explain(hits: Hits) -> Finding:
    """A kernel of Triton's, or a recipe of Transformer Engine's."""
    need = hits.get("need")
    return found(
        PROBLEM, RECIPE if need else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        types=hits.get("types"),
    )  # fmt: skip

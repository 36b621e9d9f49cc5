"""Judges flashinfer-sees-no-gpu (VLL074), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """The line about SM 12.x, where it was printed, tells which of the three it is."""
    if not hits.of(0):
        return None
    cuda = hits.get("cuda")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        cuda=cuda,
    )  # fmt: skip

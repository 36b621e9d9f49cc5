"""Judges nodes-not-told-apart (VLL093), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Too many addresses or too few."""
    nodes, addresses = int(hits.get("nodes") or 0), int(hits.get("addresses") or 0)
    why = TOML.phrase("two") if addresses > nodes else TOML.phrase("same") if nodes else ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        hosts=nodes or "the", addresses=addresses or "other", why=why,
    )  # fmt: skip

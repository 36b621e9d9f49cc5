"""Judges mesh-above-world (LCH043), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
GROUP = TOML["group"]


def explain(hits: Hits) -> Finding:
    """A mesh tells both numbers, a group none."""
    return found(
        PROBLEM, GROUP if hits.get("group") else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED, mesh=hits.get("mesh") or "", world=hits.get("world") or "",
    )  # fmt: skip

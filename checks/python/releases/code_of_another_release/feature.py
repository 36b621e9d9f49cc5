"""Judges PYT5808/feature, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
EXACT = TOML["exact"]
VISION = TOML["vision"]


def explain(hits: Hits) -> Finding:
    """The package as the index spells it, and the release that was named first."""
    if vision := hits.get("vision"):
        return found(
            PROBLEM, VISION, where=hits.where(), evidence=hits.evidence(), name=vision,
            commands=('pip install -U "qwen-vl-utils>=0.0.14"',),
        )  # fmt: skip
    name = (hits.get("package") or "").lower().replace("_", "-")
    return found(
        PROBLEM, EXACT if hits.first.groups.get("exact") else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        name="torch" if name == "pytorch" else name, version=hits.get("version"),
    )  # fmt: skip

"""Judges save-plan-refused (CKP027), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
PLAN = TOML["plan"]
FLATTENED = TOML["flattened"]


def explain(hits: Hits) -> Finding:
    """With the tensor that the planner's warning names."""
    key = hits.get("key")
    flattened = hits.get("flattened")
    return found(
        PROBLEM, FLATTENED if flattened else PLAN, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if flattened else LIKELY, key=key,
    )  # fmt: skip

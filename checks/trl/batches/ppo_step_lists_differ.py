"""Judges ppo-step-lists-differ (TRL072), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
NUMBER = TOML["number"]
FORM = TOML["form"]


def explain(hits: Hits) -> Finding:
    """Tell a wrong number from a wrong form."""
    groups = hits.first.groups
    return found(
        PROBLEM, NUMBER if "batch" in groups else FORM, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, batch=groups.get("batch"), given=groups.get("given"), list=groups["list"].lower(),
    )  # fmt: skip

"""Judges trainer-argument-of-wrong-type (TRL062), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
CASES = TOML.cases


def explain(hits: Hits) -> Finding | None:
    """Name the argument and what it takes."""
    first = hits.first
    values: dict[str, Any] = dict(first.groups)
    return found(PROBLEM, CASES[first.signature][1], where=hits.where(), evidence=hits.evidence(), **values)

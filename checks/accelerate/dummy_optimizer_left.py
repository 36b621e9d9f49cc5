"""Judges dummy-optimizer-left (ACC024), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
EARLY = TOML["early"]


def explain(hits: Hits) -> Finding:
    """A scheduler meets the placeholder before the first step."""
    early = hits.first.signature > 0
    return found(
        PROBLEM, EARLY if early else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        owner=hits.get("owner"),
    )  # fmt: skip

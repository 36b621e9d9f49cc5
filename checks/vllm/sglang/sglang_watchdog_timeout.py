"""Judges sglang-watchdog-timeout (VLL088), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
HEALTH = TOML["health"]


def explain(hits: Hits) -> Finding:
    """The watchdog's word counts more than a health check that was missed."""
    seconds = hits.get("seconds")
    return found(
        PROBLEM, LOG_MESSAGE if seconds else HEALTH, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        seconds=(seconds or "").removesuffix(".0"), waited=hits.get("waited") or "",
    )  # fmt: skip

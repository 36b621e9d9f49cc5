"""Judges swap-space-unfit (VLL055), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_LACK = TOML["log_lack"]


def explain(hits: Hits) -> Finding:
    """Refused at the start, or used up."""
    refused = hits.get("asked") is not None
    return found(
        PROBLEM,
        LOG_MESSAGE if refused else LOG_MESSAGE_LACK,
        where=hits.where(),
        evidence=hits.evidence(),
        asked=hits.get("asked"),
        total=hits.get("total"),
    )

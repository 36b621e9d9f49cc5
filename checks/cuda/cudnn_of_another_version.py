"""Judges cudnn-of-another-version (CUD008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_PART = TOML["log_part"]


def explain(hits: Hits) -> Finding | None:
    """Only torch's own check tells both versions."""
    told = hits.get("built")
    return found(
        PROBLEM,
        LOG_MESSAGE if told else LOG_MESSAGE_PART,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if told else LIKELY,
        built=(told or "").replace(", ", "."),
        runtime=(hits.get("found") or "").replace(", ", "."),
    )

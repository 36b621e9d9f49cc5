"""Judges fsdp-mixed-dtypes-in-unit (FSD007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_2 = TOML["log_2"]


_OF_VERSION_2 = 2  # position of the pattern


def explain(hits: Hits) -> Finding:
    """What helps depends on the version of FSDP."""
    message = LOG_MESSAGE_2 if hits.first.signature == _OF_VERSION_2 else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, first=hits.get("first"),
        second=hits.get("second"),
    )  # fmt: skip

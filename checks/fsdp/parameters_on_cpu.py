"""Judges parameters-on-cpu (FSD013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NO_BACKEND = TOML["no_backend"]


def explain(hits: Hits) -> Finding:
    """A broadcast at the start, or a gathering later on."""
    return found(
        PROBLEM, NO_BACKEND if hits.get("device") else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY,
    )  # fmt: skip

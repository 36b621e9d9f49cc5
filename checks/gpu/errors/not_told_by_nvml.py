"""Judges not-told-by-nvml (GPU023), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
NO_DRIVER = TOML["no_driver"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """No driver at all, or a question that this card does not answer."""
    driver = hits.get("driver")
    return found(
        PROBLEM, NO_DRIVER if driver else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        driver=driver or "", kind=hits.get("kind") or "",
    )  # fmt: skip

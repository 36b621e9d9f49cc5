"""Judges swift-arguments-absent (CKP033), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """The end of the path is enough to know it by."""
    parts = re.split(r"[\\/]", hits.get("file") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        folder="/".join(parts[-3:-1]),
    )  # fmt: skip

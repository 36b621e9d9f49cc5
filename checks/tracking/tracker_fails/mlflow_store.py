"""Judges TRK7026/mlflow_store, a row of tracker-fails; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Name the folder by its last parts."""
    parts = re.split(r"[\\/]", hits.get("file") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        file="/".join(parts[-3:]), folder="/".join(parts[-3:-1]) or ".",
    )  # fmt: skip

"""Judges optimizer-and-scheduler-apart (DSP035), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Say which of the two is missing."""
    missing = (hits.get("missing") or hits.get("missing_too") or "scheduler").lower().split()[-1]
    split = "split" if hits.get("there") == "scheduler" else "missing"
    what = TOML.phrase(f"what.{'dummy' if hits.get('missing_too') else split}", missing=missing)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), what=what)

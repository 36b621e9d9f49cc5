"""Judges ray-memory-monitor (MEM018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """With the sizes where Ray tells them."""
    used, total = hits.get("used"), hits.get("total")
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), used=used or "", total=total or "")

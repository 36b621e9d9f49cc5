"""Judges model-loaded-across-devices (ACC013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_CPU = TOML["log_cpu"]


def explain(hits: Hits) -> Finding | None:
    """Several GPUs, or the CPU; weights on `meta` were never loaded, which is another matter."""
    if "meta" in (hits.first.groups.get("devices") or ""):
        return None
    message = LOG_MESSAGE_CPU if "cpu" in (hits.first.groups.get("devices") or "") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)

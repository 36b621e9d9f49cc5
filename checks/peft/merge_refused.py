"""Judges merge-refused (PFT013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
BROKEN = TOML["broken"]


def explain(hits: Hits) -> Finding | None:
    """A broken adapter is another matter than a base that cannot take it."""
    adapter, how = hits.first.groups.get("adapter"), hits.first.groups.get("how")
    message = BROKEN if adapter else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), adapter=adapter, how=how)

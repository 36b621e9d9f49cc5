"""Judges CKP7555/layers, a row of of-another-model; its words stand in the TOML of the table."""

from __future__ import annotations

from typing import Optional

from doctor.base.record import replace
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
WRAPPED = TOML["wrapped"]
LOG_CONFIDENCE = TOML.confidence


def explain(hits: Hits) -> Optional[Finding]:
    """Name what the names of the file begin with, where the log tells; packed weights are made after the warning."""
    packed = hits.values("packed")
    named = [hit for hit in hits.of(0) if hit.groups.get("path") not in packed]
    if not named and not hits.of(1):
        return None
    shown = replace(hits, kept=[*named[:1], *hits.of(1)[:2], *hits.of(2)[:1], *hits.of(3)[:1]])
    prefix = hits.get("prefix")
    if prefix is None:
        return found(PROBLEM, LOG_MESSAGE, where=shown.where(), evidence=shown.evidence(), confidence=LOG_CONFIDENCE)
    return found(
        PROBLEM, WRAPPED, where=shown.where(), evidence=shown.evidence(), confidence=LOG_CONFIDENCE, prefix=prefix
    )

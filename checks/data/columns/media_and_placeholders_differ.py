"""Judges media-and-placeholders-differ (DAT040), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
CUT = TOML["cut"]
GRID = TOML["grid"]
ENGINE = TOML["engine"]


_GRID, _INDEX, _POSITIONS = 3, 4, 5


def explain(hits: Hits) -> Finding | None:
    """The kind stands in one of two places; a line of the processor's code counts with the index that failed."""
    kind = hits.get("kind") or hits.get("kind_too") or "image"
    if hits.first.signature == _GRID:
        near = [hit for hit in hits.of(_INDEX) if 0 < hit.line - hits.first.line <= 2]
        files = near[0].groups["files"] if near else ""
        if not near or near[0].groups["index"] != files:
            return None
        return found(
            PROBLEM, GRID, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, kind=kind, files=files
        )  # fmt: skip
    if hits.first.signature == _POSITIONS:
        return found(PROBLEM, ENGINE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if counted := hits.first.groups.get("kind_too"):
        return found(
            PROBLEM, CUT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, kind=counted
        )  # fmt: skip
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind)

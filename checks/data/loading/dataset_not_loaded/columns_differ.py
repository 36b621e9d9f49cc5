"""Judges DAT1752/columns_differ, a row of dataset-not-loaded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
ROWS = TOML["rows"]
CAST = TOML["cast"]


_CAST = 2  # position of the pattern


def explain(hits: Hits) -> Finding | None:
    """Count the columns; their names are in the quotation. Outside of a builder other things are cast as well."""
    reads = any("_prepare_split" in frame for hit in hits for frame in hit.frames)
    if hits.first.signature == _CAST and not reads:
        return found(PROBLEM, CAST, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if hits.first.signature:
        return found(PROBLEM, ROWS, where=hits.where(), evidence=hits.evidence())
    counts = _COUNTS.findall(hits.get("difference") or "")
    difference = " and ".join(f"{number} {kind} columns" for number, kind in counts) or "other columns"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), difference=difference)


_COUNTS = later(r"(\d{1,5}) (new|missing) columns")

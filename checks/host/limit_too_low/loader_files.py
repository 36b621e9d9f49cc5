"""Judges HST9781/loader_files, a row of limit-too-low; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_WITHOUT_REASON = 2  # position of a pattern; older torch does not say why the object could not be opened


def explain(hits: Hits) -> Finding:
    """Certain where the limit is named."""
    first = hits.first
    unsure = first.signature == _WITHOUT_REASON and "Too many open files" not in first.text
    confidence = LIKELY if unsure else CONFIRMED
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=confidence,
        commands=("ulimit -n 65535",),
    )  # fmt: skip

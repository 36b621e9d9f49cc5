"""Judges host-memory-exhausted (MEM019), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PAGE_FILE = TOML["page_file"]


def explain(hits: Hits) -> Finding:
    """With the size that was asked for; Windows says it by the number of its error."""
    if hits.get("windows") or hits.get("native"):
        return found(PROBLEM, PAGE_FILE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    size = hits.get("size")
    if told := hits.get("bytes"):
        size = f"{int(told) / 2**30:.1f} GiB"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        size=f": {size}" if size else "",
    )

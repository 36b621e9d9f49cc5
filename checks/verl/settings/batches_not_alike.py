"""Judges batches-not-alike (VRL038), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
ROWS = TOML["rows"]
FIELD = TOML["field"]


def explain(hits: Hits) -> Finding:
    """Rows or a field; a multiple tells that a repetition is at fault."""
    one, two, field = hits.get("one"), hits.get("two"), hits.get("field")
    small, large = sorted((int(one or 0), int(two or 0)))
    times = large // small if small and large % small == 0 else 0
    return found(
        PROBLEM, FIELD if field else ROWS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        one=one, two=two, field=field or "",
        times=times if times > 1 else 0,
    )  # fmt: skip

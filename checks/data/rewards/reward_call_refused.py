"""Judges reward-call-refused (DAT027), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MISSING = TOML["missing"]
REFUSED = TOML["refused"]
NUMBER = TOML["number"]


def explain(hits: Hits) -> Finding | None:
    """Say what did not fit: a parameter, a keyword, or the number."""
    message = MISSING if hits.get("names") else REFUSED if hits.get("name") else NUMBER
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        function=(hits.get("function") or "").rpartition(".")[2], name=hits.get("name") or "",
        names=(hits.get("names") or "").replace("'", "`"), takes=hits.get("takes") or "", given=hits.get("given") or "",
    )  # fmt: skip

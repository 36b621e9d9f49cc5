"""Judges launcher-signalled (LCH024), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
HANGUP = TOML["hangup"]
INTERRUPT = TOML["interrupt"]
TERMINATE = TOML["terminate"]


_BY_NAME = {"1": HANGUP, "2": INTERRUPT, "SIGINT": INTERRUPT}


def explain(hits: Hits) -> Finding | None:
    """Each signal has its usual sender."""
    message = _BY_NAME.get(hits.get("signal") or hits.get("deepspeed") or "", TERMINATE)
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

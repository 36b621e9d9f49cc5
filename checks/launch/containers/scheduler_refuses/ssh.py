"""Judges LCH4907/ssh, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
DENIED = TOML["denied"]
UNKNOWN = TOML["unknown"]
UNREACHED = TOML["unreached"]


def explain(hits: Hits) -> Finding | None:
    """Not let in, not known, or not reached; git says the same of its own servers."""
    if hits.get("git") and not hits.of(0):
        return None
    message = DENIED if hits.of(0) else UNKNOWN if hits.of(1) else UNREACHED
    host = hits.get("host") or hits.get("unresolved") or "NODE"
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is UNKNOWN else CONFIRMED,  # git says the same of its servers
        host=host,
        commands=(f"ssh -o BatchMode=yes {host} true",),
    )

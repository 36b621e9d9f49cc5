"""Judges VLL5449/chat_template, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
FILE = TOML["file"]
LOG_COMMANDS = TOML.commands


def explain(hits: Hits) -> Finding:
    """No template at all, or one that was named and is not there."""
    path = hits.get("path")
    return found(
        PROBLEM,
        FILE if path else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=() if path else LOG_COMMANDS,
        path=path or "",
    )

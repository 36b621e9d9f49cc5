"""Judges recompile-limit (TOR023), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
FULLGRAPH = TOML["fullgraph"]
LOG_COMMANDS = TOML.commands


def explain(hits: Hits) -> Finding:
    """A limit that ends the run, or one that only slows it."""
    ends = bool(hits.of(1))
    return found(
        PROBLEM,
        FULLGRAPH if ends else LOG_MESSAGE,
        severity=ERROR if ends else WARNING,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=LOG_COMMANDS,
        number=hits.get("number") or "",
    )

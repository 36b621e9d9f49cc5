"""Judges LCH4907/slurm_program, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_REFUSED = TOML["log_refused"]


def explain(hits: Hits) -> Finding:
    """A program that is not there, or one that may not be run."""
    program = hits.get("program") or ""
    absent = hits.get("why") in ("No such file or directory", "Not a directory")
    return found(
        PROBLEM,
        LOG_MESSAGE if absent else LOG_MESSAGE_REFUSED,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        program=program,
        name=program.rpartition("/")[2],
        commands=() if absent else (f"chmod +x {program}",),
    )

"""Judges LCH4907/slurm_container, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """With what enroot said of the registry or the disk."""
    told = {name: hits.get(name) for name in ("code", "file", "program", "full", "host")}
    kind = next((name for name, value in told.items() if value), "host")
    why, detail = (TOML.phrases(each).get(kind) for each in ("why", "detail"))
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if why else LIKELY,
        why=why.filled(**told) if why else "",
        detail=detail.filled(**told) if detail else "",
    )

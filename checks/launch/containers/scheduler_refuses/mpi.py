"""Judges LCH4907/mpi, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SLOTS = TOML["slots"]
ROOT = TOML["root"]
DAEMONS = TOML["daemons"]
PMI = TOML["pmi"]
EXECUTABLE = TOML["executable"]


_PMI = 5  # position of srun's words


def explain(hits: Hits) -> Finding | None:
    """Slots, root, the daemons on other nodes, or srun without PMI."""
    if all(hit.groups.get("path") for hit in hits):
        return None
    told = {"executable": EXECUTABLE}
    message = SLOTS if hits.of(0) else ROOT if hits.of(1) else PMI if hits.of(_PMI) else hits.choice(told, DAEMONS)
    node, path = hits.get("node"), hits.get("path")
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        wanted=hits.get("wanted") or "?",
        node=node or "NODE",
        path=path or "PATH",
        known=node is not None,
    )

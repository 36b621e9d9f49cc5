"""Judges the rows of gpu-memory-ran-out (MEM6839) that the traceback alone tells apart."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import LOG, words_of
from doctor.checks.memory._oom import finding, told

#: row -> what is said in which phases (names of `_oom.PHASES`, "" where none is told), and how sure that is
PHASES: Mapping[str, tuple[tuple[str, Confidence, tuple[str, ...]], ...]] = {
    "training_step": (
        (LOG, CONFIRMED, ("step", "backward")),
        ("reward", CONFIRMED, ("reward",)),
        ("forward", LIKELY, ("forward",)),
    ),
    "logits": ((LOG, CONFIRMED, ("logits",)),),
    "optimizer": ((LOG, CONFIRMED, ("optimizer",)),),
    "cuda_graphs": ((LOG, CONFIRMED, ("graph",)),),
    "kv_cache": ((LOG, LIKELY, ("kv",)),),
    "profile_run": ((LOG, CONFIRMED, ("profile",)),),
    "model_load": ((LOG, LIKELY, ("load",)),),
    "weight_sync": ((LOG, CONFIRMED, ("sync",)),),
    "unknown_phase": ((LOG, LIKELY, ("",)),),
}


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell the phase of the row."""
    row = words_of(f"{__name__}.{hits.row}")
    for message, confidence, phases in PHASES[hits.row]:
        if told(hits, *phases):
            return finding(row.problem, row[message], hits, confidence)
    return None

"""Judges MEM6839/checkpoint, a row of gpu-memory-ran-out; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.memory._oom import finding, told

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
CLONE = TOML["clone"]


def explain(hits: Hits) -> Finding | None:
    """Only where the frames, or FSDP's own words, tell this phase."""
    if not hits.of(0):
        weight = (hits.get("weight") or "").removeprefix("_fsdp_wrapped_module.").removeprefix("_fpw_module.")
        return found(
            PROBLEM, CLONE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            weight=".".join(weight.split(".")[-4:]),
        )  # fmt: skip
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "save") else None

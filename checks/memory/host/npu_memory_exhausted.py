"""Judges npu-memory-exhausted (MEM026), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.memory._oom import training_knobs

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OF_CANN = TOML["of_cann"]


def explain(hits: Hits) -> Finding:
    """With torch's own sizes, or those of Ascend's runtime, and the settings of the framework that runs."""
    knobs = training_knobs(hits)
    if not hits.of(0):
        size = hits.get("bytes")
        asked = f" {int(size) / 2**30:.1f} GiB" if size else ""
        return found(
            PROBLEM, OF_CANN, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, asked=asked,
            knobs=knobs,
        )  # fmt: skip
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        knobs=knobs,
        asked=hits.get("asked"),
        npu=hits.get("npu"),
        total=hits.get("total"),
        held=hits.get("held"),
        free=hits.get("free"),
    )

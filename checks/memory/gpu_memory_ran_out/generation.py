"""Judges MEM6839/generation, a row of gpu-memory-ran-out; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.memory._oom import finding, told

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SGLANG = TOML["sglang"]


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    if not told(hits, "generate"):
        return None
    serves = any("sglang/srt/managers/" in frame for hit in hits for frame in hit.frames)
    return finding(PROBLEM, SGLANG if serves else LOG_MESSAGE, hits, CONFIRMED)

"""Judges TOR3430/tensors, a row of on-two-devices; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PARALLEL = TOML["parallel"]


def explain(hits: Hits) -> Finding | None:
    """DataParallel words it in its own way; elsewhere the two devices are named."""
    parallel = bool(hits.of(1)) or any("data_parallel" in frame for frame in hits.first.frames)
    return found(
        PROBLEM, PARALLEL if parallel else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, one=hits.get("one") or hits.get("first") or "cuda",
        two=hits.get("two") or hits.get("second") or "cpu",
    )  # fmt: skip

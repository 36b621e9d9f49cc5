"""Judges pinned-memory-refused (MEM020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
ON_NPU = TOML["on_npu"]


def explain(hits: Hits) -> Finding:
    """What CUDA words as its own memory, or what Ascend's runtime names."""
    if hits.get("npu") or hits.get("npu_host"):
        return found(PROBLEM, ON_NPU, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    loader = any("torch/utils/data/" in frame.replace("\\", "/") for hit in hits for frame in hit.frames)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY if loader else CONFIRMED
    )

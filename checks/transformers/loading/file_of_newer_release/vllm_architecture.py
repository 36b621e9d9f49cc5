"""Judges TRF0073/vllm_architecture, a row of file-of-newer-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SGLANG = TOML["sglang"]
PROCESSORS = TOML["processors"]
UNNAMED = TOML["unnamed"]


def explain(hits: Hits) -> Finding:
    """Both engines keep a register of classes and refuse in the same words."""
    if hits.first.groups.get("none"):
        return found(PROBLEM, UNNAMED, where=hits.where(), evidence=hits.evidence())
    if hits.first.groups.get("processor"):
        return found(PROBLEM, PROCESSORS, where=hits.where(), evidence=hits.evidence(), names=hits.get("names") or "")
    sglang = any("sglang" in frame for hit in hits for frame in hit.frames) or "dict_keys([" in hits.first.text
    return found(
        PROBLEM, SGLANG if sglang else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        names=hits.get("names") or "", last=hits.get("last") or "",
    )  # fmt: skip

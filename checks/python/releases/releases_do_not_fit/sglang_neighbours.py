"""Judges PYT0301/sglang_neighbours, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
ABSENT = TOML["absent"]


def explain(hits: Hits) -> Finding:
    """Another release of a neighbour, or none."""
    told = hits.first.groups
    absent = told.get("guarded") or told.get("vllm")
    method = told.get("method") or ""
    neighbour = "sgl-kernel" if told.get("kernel") else "FlashInfer" if "CacheWrapper" in method else "its neighbour"
    return found(
        PROBLEM,
        ABSENT if absent else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        neighbour="vLLM or sgl-kernel" if neighbour == "its neighbour" else neighbour,
        name=absent or told.get("kernel") or method,
    )

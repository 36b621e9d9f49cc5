"""Judges memory-saver-call-failed (MEM030), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
NO_MEMORY = TOML["no_memory"]
NO_HOST_MEMORY = TOML["no_host_memory"]
OTHER = TOML["other"]


OUT_OF_MEMORY = "2"  # CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation


def explain(hits: Hits) -> Finding:
    """The code of the driver tells memory from misuse, the step GPU memory from that of the host."""
    code, step = hits.get("code"), hits.get("step") or ""
    message = OTHER
    if code == OUT_OF_MEMORY:
        message = NO_HOST_MEMORY if step == "pause" else NO_MEMORY
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is OTHER else CONFIRMED,
        code=code or "-",
        step=step,
    )

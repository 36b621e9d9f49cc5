"""Judges TOR4959/cublas, a row of cuda-library-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_MEMORY = TOML["log_memory"]
LOG_MESSAGE_LIBRARY = TOML["log_library"]


def explain(hits: Hits) -> Finding | None:
    """The status tells the kind, none of them for certain."""
    status = hits.get("status") or ""
    if "ALLOC_FAILED" in status:
        return None  # memory, told by MEM021
    handle = "cublasCreate" in (hits.get("call") or "") or "NOT_INITIALIZED" in status
    unsupported = "NOT_SUPPORTED" in status or "INVALID_VALUE" in status or "ARCH_MISMATCH" in status
    return found(
        PROBLEM,
        LOG_MESSAGE_MEMORY if handle else LOG_MESSAGE_LIBRARY if unsupported else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        status=status,
        call=hits.get("call"),
    )

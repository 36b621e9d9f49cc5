"""Judges gpu-full-at-start (MEM021), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_PINNED = ("allocate_cpu_cache", "pin_memory", "swap_in", "cpu_offload", "swap_tensor")


def explain(hits: Hits) -> Finding | None:
    """None where the traceback asks for pinned host memory: another problem with the same words."""
    if any(word in frame for hit in hits for frame in hit.frames for word in _PINNED):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

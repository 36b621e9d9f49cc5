"""Judges quantized-checkpoint-unrecognised (VLL072), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def _kind(mark: str) -> tuple[str, str]:
    """(name of the format, how it is named to vLLM), by the ending of the weight's name."""
    if mark.startswith("weight."):
        return "bitsandbytes", "`--quantization bitsandbytes --load-format bitsandbytes` (vLLM before 0.8 needs both)"
    if mark in ("qweight", "qzeros", "scales", "g_idx"):
        return "AWQ or GPTQ", "`--quantization awq --dtype half`, or `--quantization gptq`"
    return "FP8 or compressed-tensors", "`--quantization fp8`, or `--quantization compressed-tensors`"


def explain(hits: Hits) -> Finding:
    """The ending of the name tells the format."""
    kind, what = _kind(hits.get("mark") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        weight=hits.get("weight"), kind=kind, what=what,
    )  # fmt: skip

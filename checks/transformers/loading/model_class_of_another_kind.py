"""Judges model-class-of-another-kind (TRF044), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
TOKENIZER = TOML["tokenizer"]


_CLASSES = {
    "images": "`AutoModelForImageTextToText`", "other": "the `AutoModelFor...` class of its task, or its own class",
}  # fmt: skip
_MARKS = ("VL", "Vision", "Llava", "Gemma3Config", "Gemma3nConfig", "Gemma4Config", "Mistral3Config", "Llama4Config",
          "Qwen3_5", "Idefics", "PaliGemma", "Mllama", "InternVL", "Omni")  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Tell models with images by the name of their configuration."""
    config, auto = hits.get("config") or "", hits.get("auto") or ""
    if hits.get("builder") and not auto:
        return found(
            PROBLEM, TOKENIZER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, config=config
        )  # fmt: skip
    kind = "images" if any(mark in config for mark in _MARKS) else "other"
    installed = hits.versions.get("transformers")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), config=config, auto=auto,
        kind=TOML.phrase(f"kind.{kind}"), classes=_CLASSES[kind], version=f" {installed}" if installed else "",
    )  # fmt: skip

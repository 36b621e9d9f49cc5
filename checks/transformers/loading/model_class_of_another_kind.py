"""Judges model-class-of-another-kind (TRF044), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
TOKENIZER = TOML["tokenizer"]


_IMAGES = ("a model with several modalities", "多模态模型", "`AutoModelForImageTextToText`")
_OTHER = ("another kind of model", "另一类模型", "the `AutoModelFor...` class of its task, or its own class")
_MARKS = ("VL", "Vision", "Llava", "Gemma3Config", "Gemma3nConfig", "Gemma4Config", "Mistral3Config", "Llama4Config",
          "Qwen3_5", "Idefics", "PaliGemma", "Mllama", "InternVL", "Omni")  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Tell models with images by the name of their configuration."""
    config, auto = hits.get("config") or "", hits.get("auto") or ""
    if hits.get("builder") and not auto:
        return found(
            PROBLEM, TOKENIZER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, config=config
        )  # fmt: skip
    seen = any(mark in config for mark in _MARKS)
    kind, kind_zh, classes = _IMAGES if seen else _OTHER
    installed = hits.versions.get("transformers")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), config=config, auto=auto, kind=kind,
        kind_zh=kind_zh, classes=classes, version=f" {installed}" if installed else "",
    )  # fmt: skip

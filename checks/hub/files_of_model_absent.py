"""Judges files-of-model-absent (HUB015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_FILES = {"tokenizer": "`tokenizer_config.json` and `tokenizer.json`", "configuration": "`config.json`",
          "model": "`config.json` and `model*.safetensors`"}  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """A path and a name fail for other reasons."""
    what, name = hits.get("what") or "", hits.get("name") or ""
    is_path = name.startswith(("/", ".", "~")) or name.count("/") > 1
    files = _FILES.get(what, "`preprocessor_config.json`")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, what=what, name=name,
        why=TOML.phrase("why.path" if is_path else "why.name"), files=files,
    )  # fmt: skip

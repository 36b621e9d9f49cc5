"""Judges TRF0073/tokenizer_class, a row of file-of-newer-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NEWER = TOML["newer"]


def explain(hits: Hits) -> Finding | None:
    """`TokenizersBackend` tells who wrote it."""
    name, installed = hits.get("name") or "", hits.versions.get("transformers")
    message = NEWER if name in ("TokenizersBackend", "SentencePieceBackend", "PythonBackend") else LOG_MESSAGE
    version = f" {installed}" if installed else " 4" if message is NEWER else ""
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), name=name, version=version)

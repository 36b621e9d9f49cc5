"""Judges model-file-not-json (TRF053), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
READ = TOML["read"]
HIDDEN = TOML["hidden"]


#: the function that reads -> the file
_READERS = (
    (r"tokenization_auto\.py:get_tokenizer_config$", "tokenizer_config.json"),
    (r"tokenization_utils_base\.py:_from_pretrained$", "tokenizer_config.json"),
    (r"transformers[\\/]\w+(?:[\\/]\w+)?\.py:get_checkpoint_shard_files$", "model.safetensors.index.json"),
    (r"peft[\\/](?:utils[\\/])?config\.py:from_json_file$", "adapter_config.json"),
)


def explain(hits: Hits) -> Finding:
    """Transformers names the file only where it caught the exception of the reader."""
    if path := hits.get("path"):
        return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), path=path)
    if hits.get("hidden"):
        return found(PROBLEM, HIDDEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    file = next(
        (file for pattern, file in _READERS if any(re.search(pattern, frame) for frame in hits.first.frames)),
        "config.json",
    )
    return found(PROBLEM, READ, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, file=file)

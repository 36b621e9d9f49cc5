"""Judges LCH6560/llamafactory, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: where it checks arguments, and the model against them
_FILES = r"(?:llamafactory|llmtuner)[\\/](?:hparams|model)[\\/](?:model_utils[\\/])?\w{1,40}\.py:"


#: what a refusal that names no option asks for -> its words
#: https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/model/model_utils/quantization.py
_ASKED = (
    ("quantized", r"PTQ-quantized|HQQ quantization is|EETQ quantization is"),
    (
        "adapter",
        r"[Qq]uantized models? (?:can only be used for|only accepts?)|Cannot (?:resize|initialize) [^\n]{3,40} quant",
    ),
    ("single", r"accepts a single adapter|Cannot use multiple adapters"),
)

_NAMED = later(r"`([\w.\-]{2,40}(?:=[\w.\-]{1,40})?)`|\b((?:[a-z]+_)+[a-z]+)\b")


def explain(hits: Hits) -> Finding | None:
    """Name the options that the exception names, and the value where it says one."""
    if not hits.first.frames or not re.search(_FILES, hits.first.frames[-1]):
        return None
    names = list(dict.fromkeys(a or b for a, b in _NAMED.findall(hits.first.text)))[:3]
    listed = ", ".join(f"`{name}`" for name in names)
    value = next((name for name in names if "=" in name), "")
    asked = next((name for name, words in _ASKED if re.search(words, hits.first.text)), "")
    of_words = TOML.phrase(f"asked.{asked}") if asked else ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if "hparams" in hits.first.frames[-1] else LIKELY,
        names=names, listed=listed,
        change=TOML.phrase("value", value=value.replace("=", ": ")) if value else of_words,
    )  # fmt: skip

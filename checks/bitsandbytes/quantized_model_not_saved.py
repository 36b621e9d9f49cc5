"""Judges quantized-model-not-saved (BNB009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Name the number of bits or the method, where the refusal does."""
    bits, method = hits.get("bits"), hits.get("method")
    name = TOML.phrase("bits", bits=bits) if bits else (method or TOML.phrase("quantized"))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=name,
    )  # fmt: skip

"""Judges processor-is-tokenizer (TRF039), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
PROCESSOR = TOML["processor"]
OBJECT = TOML["object"]


def explain(hits: Hits) -> Finding:
    """Methods of text mean that an object was passed for a name."""
    name = hits.get("name") or ""
    message = OBJECT if name in ("lower", "startswith", "split") else PROCESSOR
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        tokenizer=hits.get("tokenizer"), name=name,
    )  # fmt: skip

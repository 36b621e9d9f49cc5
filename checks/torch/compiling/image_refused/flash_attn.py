"""Judges TOR4540/flash_attn, a row of image-refused; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_XFORMERS = TOML["log_xformers"]


def explain(hits: Hits) -> Finding:
    """Code of a newer CUDA is refused as invalid; code for another card is not there."""
    message = LOG_MESSAGE_XFORMERS if "xformers" in (hits.get("source") or "") else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        why=TOML.phrase("why.invalid" if hits.get("how") == "invalid" else "why.absent"),
    )  # fmt: skip

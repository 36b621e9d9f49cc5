"""Judges token-count-gathered (TRF040), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
AVERAGE = TOML["average"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Only where the Trainer itself reads the number, not the user's code below it."""
    if hits.of(1):
        return found(PROBLEM, AVERAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    frames = hits.first.frames
    if frames and "transformers" not in frames[-1]:
        return None
    code = hits.first.code
    if code and "input_tokens" not in code:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), count=hits.get("count") or "?",
        confidence=CONFIRMED if code else LIKELY,
    )  # fmt: skip

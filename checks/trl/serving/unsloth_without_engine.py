"""Judges unsloth-without-vllm-engine (TRL044), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
METHOD = TOML["method"]
SAMPLING = TOML["sampling"]


def explain(hits: Hits) -> Finding | None:
    """The engine, a method that comes with it, or arguments that only it takes; other classes have such names, too."""
    message = hits.choice({"given": SAMPLING, "method": METHOD}, LOG_MESSAGE)
    unsloth = any("unsloth" in frame.lower() for hit in hits for frame in hit.frames)
    if not unsloth and hits.first.frames and message is LOG_MESSAGE:
        return None
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), model=hits.get("model"),
        method=hits.get("method"), confidence=CONFIRMED if unsloth else LIKELY,
    )  # fmt: skip

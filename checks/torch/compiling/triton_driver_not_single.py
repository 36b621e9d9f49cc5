"""Judges triton-driver-not-single (TOR059), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
TWO = TOML["two"]


def explain(hits: Hits) -> Finding:
    """None, or more than one; DeepSpeed is named where its module asked."""
    count = int(hits.get("count") or 0)
    deepspeed = any("deepspeed" in frame for frame in hits.first.frames)
    return found(
        PROBLEM, TWO if count else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        count=count, deepspeed=deepspeed,
    )  # fmt: skip

"""Judges extension-not-built (TOR022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NINJA = TOML["log_ninja"]


def explain(hits: Hits) -> Finding | None:
    """Operations of DeepSpeed have a problem of their own."""
    if any("deepspeed/" in frame for hit in hits for frame in hit.frames):
        return None
    ninja = not hits.get("name")
    return found(
        PROBLEM,
        LOG_MESSAGE_NINJA if ninja else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if ninja else LIKELY,
        commands=("pip install ninja",) if ninja else ("rm -rf ~/.cache/torch_extensions",),
        name=hits.get("name"),
    )

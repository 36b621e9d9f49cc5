"""Judges CKP7555/megatron, a row of of-another-model; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LAYOUT = TOML["layout"]
NO_CHECKPOINT = TOML["no_checkpoint"]
UNEVEN = TOML["uneven"]


def explain(hits: Hits) -> Finding:
    """Another layout, no checkpoint at all, or a torch too old for the layout."""
    message = LAYOUT
    if hits.get("torch"):
        message = UNEVEN
    elif hits.of(6):
        message = NO_CHECKPOINT
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        torch=hits.get("torch") or "",
    )

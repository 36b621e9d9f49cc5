"""Judges loss-without-gradient (PFT005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_LIKELY = TOML["log_likely"]
BLOCK = TOML["block"]


def explain(hits: Hits) -> Finding | None:
    """The warning of torch's checkpointing proves which of the causes it was."""
    if hits.of(2):
        return found(PROBLEM, BLOCK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    proven = bool(hits.of(1))
    return found(
        PROBLEM,
        LOG_MESSAGE if proven else LOG_MESSAGE_LIKELY,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("model.enable_input_require_grads()",),
        confidence=CONFIRMED if proven else LIKELY,
    )

"""Judges model-behind-wrapper (TOR057), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ENGINE = TOML["engine"]


def explain(hits: Hits) -> Finding:
    """DataParallel hides the model; DeepSpeed's engine does not."""
    groups = hits.first.groups
    hidden = hits.first.signature == 0
    return found(
        PROBLEM, MESSAGE if hidden else ENGINE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if hidden else LIKELY, wrapper=groups["wrapper"], attribute=groups["attribute"],
    )  # fmt: skip

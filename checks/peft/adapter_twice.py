"""Judges adapter-twice (PFT008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
IN_UNSLOTH = TOML["in_unsloth"]


def explain(hits: Hits) -> Finding:
    """TRL's trainer or Unsloth's loader."""
    message = IN_UNSLOTH if hits.get("unsloth") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())

"""Judges token-outside-embedding (TRF020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """An embedding that the user's own code looks up is not one of a language model's tokens, as far as is known."""
    asking = next((each for each in reversed(hits.first.frames) if "torch/nn/" not in each), "")
    if asking in hits.first.own:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

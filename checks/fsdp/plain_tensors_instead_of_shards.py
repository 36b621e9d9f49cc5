"""Judges plain-tensors-instead-of-shards (FSD022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """FSDP's own warning says for sure that nothing was sharded."""
    named = hits.of(0)
    if not named:
        return None
    one = bool(hits.of(1))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        name=named[0].groups["name"], why=TOML.phrase("one" if one else "mostly"),
    )  # fmt: skip

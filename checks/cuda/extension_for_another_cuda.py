"""Judges extension-for-another-cuda (CUD017), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


_FIRST_SIGN = 3  # position of what only tells the versions


def explain(hits: Hits) -> Finding | None:
    """With both versions where the build printed them."""
    if all(hit.signature >= _FIRST_SIGN for hit in hits):
        return None
    told = {name: ".".join((hits.get(name) or "").split(".")[:2]) for name in ("nvcc", "torch")}
    return found(
        PROBLEM, MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        nvcc=told["nvcc"] or "X", torch=told["torch"] or "Y",
    )  # fmt: skip

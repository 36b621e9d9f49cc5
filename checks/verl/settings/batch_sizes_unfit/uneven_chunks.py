"""Judges VRL3088/uneven_chunks, a row of batch-sizes-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MICRO = TOML["micro"]
UNLIKE = TOML["unlike"]


def explain(hits: Hits) -> Finding:
    """With both numbers where told."""
    size = hits.get("size")
    if hits.get("field"):
        return found(
            PROBLEM, UNLIKE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            field=hits.get("field"), arrays=hits.get("arrays"), tensors=hits.get("tensors"),
        )  # fmt: skip
    if hits.get("micro"):
        return found(PROBLEM, MICRO, where=hits.where(), evidence=hits.evidence(), size=size, chunks=hits.get("chunks"))
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        size=size or "",
        chunks=hits.get("chunks"),
    )

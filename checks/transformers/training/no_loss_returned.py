"""Judges no-loss-returned (TRF021), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LABELS_GIVEN = TOML["labels_given"]
NO_HEAD = TOML["no_head"]
NO_COLUMN = TOML["no_column"]


def explain(hits: Hits) -> Finding:
    """Labels that the Trainer lists among the inputs are not missing."""
    if hits.first.signature == 2:
        return found(PROBLEM, NO_HEAD, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    inputs, keys = hits.get("inputs") or "", (hits.get("keys") or "").strip()
    if "labels" in inputs.replace(" ", "").split(","):
        return found(
            PROBLEM, LABELS_GIVEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            keys=", ".join(f"`{key.strip()}`" for key in keys.split(",")[:3]),
        )  # fmt: skip
    if hits.first.signature == 1:
        return found(PROBLEM, NO_COLUMN, where=hits.where(), evidence=hits.evidence())
    sure = CONFIRMED if inputs else LIKELY
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=sure)

"""Judges adapter-weights-not-loaded (CKP031), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
RENAMED = TOML["renamed"]
LOG_CONFIDENCE = TOML.confidence


def explain(hits: Hits) -> Finding:
    """The Trainer's list is that of an empty file, PEFT's mostly that of other names."""
    missing = hits.get("missing")
    if missing is None:
        return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LOG_CONFIDENCE)
    short = ".".join(missing.split(".")[-5:])
    return found(
        PROBLEM, RENAMED, where=hits.where(), evidence=hits.evidence(), confidence=LOG_CONFIDENCE, missing=short
    )


def of_rehearsal(adapter: Mapping[str, Any]) -> Finding | None:
    """Judge a saved adapter beside its real base model.

    Args:
        adapter: `folder`, and the names that PEFT misses in it (`missing`) and does not know (`unexpected`).

    """
    missing = adapter.get("missing") or ()
    if not missing:
        return None
    words = [f"missing: {', '.join(missing[:3])}"]
    words += [f"in the file: {', '.join(adapter['unexpected'][:3])}"] if adapter.get("unexpected") else []
    evidence = tuple(Observed.quoted(adapter["folder"], each) for each in words)
    short = ".".join(missing[0].split(".")[-5:])
    return found(PROBLEM, RENAMED, evidence=evidence, confidence=LOG_CONFIDENCE, missing=short)

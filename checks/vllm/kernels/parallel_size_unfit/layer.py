"""Judges VLL9193/layer, a row of parallel-size-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """With the size of the layer and the number of parts; trainers split experts in the same words."""
    frames = hits.first.frames
    if hits.first.groups.get("what") and frames and not re.search(r"[\\/](?:vllm|sglang)[\\/]", frames[-1]):
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        size=hits.get("size"),
        parts=hits.get("parts"),
    )

"""Judges positions-taken-for-packing (FLA010), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """A memory error counts only where Transformers called the function for packed sequences."""
    packed = [hit for hit in hits.of(2) if any(re.search(r":\w{0,20}varlen_func$", frame) for frame in hit.frames)]
    if not hits.of(0) and not hits.of(1) and not packed:
        return None
    frames = hits.first.frames
    model = next((m[1] for frame in frames if (m := re.search(r"modeling_(\w{2,40})\.py:forward$", frame))), None)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        model=model,
    )  # fmt: skip

"""Judges RAY9660/package, a row of runtime-environment-fails; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """With the size where Ray tells it; any server on aiohttp may refuse what is too large."""
    size, limit = hits.get("size"), hits.get("limit")
    told = f": {size}, at most {limit}" if size else ""
    frames = [frame for hit in hits for frame in hit.frames]
    if not size and frames and not any("ray" in re.split(r"[\\/.]", frame) for frame in frames):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), size=told,
        confidence=CONFIRMED if size or frames else LIKELY,
    )  # fmt: skip

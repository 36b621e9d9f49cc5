"""Judges PYT5808/remote_code, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
TOKENIZER = TOML["tokenizer"]
PREFIX = TOML["prefix"]


_FOLDER = r"transformers_modules[\\/]"
#: places in SIGNATURES
_TOKENIZER, _PREFIX, _BARE = 4, 5, 6


#: helpers of torch that hand a call through and never are the place of a fault
_THROUGH = later(r"torch[\\/]nn[\\/]modules[\\/]module\.py:|accelerate[\\/]hooks\.py:|torch[\\/]utils[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Only where the model's own file raised; calls that are handed through by torch do not count."""
    first = hits.first
    frames = [frame for frame in first.frames if not _THROUGH.search(frame)]
    place = re.split(r"[\\/]", frames[-1].rpartition(":")[0])[-1] if frames else "tokenization_*.py"
    asked = next((each for each in hits.of(_TOKENIZER) if each.line == first.line and each.file == first.file), None)
    if asked is None and first.signature == _BARE and not first.frames:
        asked = first
    if asked is not None or hits.of(_PREFIX):
        groups = (asked or first).groups
        return found(
            PROBLEM, TOKENIZER if asked is not None else PREFIX, where=hits.where(), evidence=hits.evidence(),
            confidence=LIKELY, place=place, what=groups.get("what", ""), tokenizer=groups.get("tokenizer", ""),
        )  # fmt: skip
    if not frames or not re.search(_FOLDER, frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        place=f"`{place}`",
    )  # fmt: skip

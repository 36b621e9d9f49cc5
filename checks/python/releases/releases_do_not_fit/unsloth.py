"""Judges PYT0301/unsloth, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
REWRITTEN = TOML["rewritten"]
HALVES = TOML["halves"]
CACHE = TOML["cache"]
UNTOKENIZED = TOML["untokenized"]


STATIC_CACHE = 12  # place of the cache's words among the signatures
TOKENS = 13

_THROUGH = later(r"torch[\\/](?:nn[\\/]modules[\\/]module|autograd|_dynamo|_compile|utils)|triton[\\/]")


def explain(hits: Hits) -> Finding | None:
    """A missing name, or a failure whose innermost frame (torch and Triton aside) is Unsloth's."""
    if hits.of(9):
        return found(
            PROBLEM, HALVES, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name")
        )
    if hits.of(TOKENS):
        return found(
            PROBLEM, UNTOKENIZED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name")
        )
    if hits.of(STATIC_CACHE):
        return found(PROBLEM, CACHE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if hits.of(0) or hits.of(1) or hits.of(2):
        if hits.first.frames and not re.search(r"unsloth|Unsloth|^<", hits.first.frames[-1]):
            return None  # another library's import, below Unsloth's
        name = hits.get("name")
        return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name)
    frames = [frame for frame in hits.first.frames if not _THROUGH.search(frame)]
    innermost = frames[-1] if frames else "unsloth"
    if not re.search(r"unsloth|Unsloth|^<string>", innermost):
        return None
    place = re.split(r"[\\/]", innermost.rpartition(":")[0] or innermost)[-1]
    return found(
        PROBLEM, REWRITTEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, place=place,
        name=TOML.phrase("kernel") if hits.of(8) else f"`{hits.get('name')}`",
    )  # fmt: skip

"""Judges no-matching-distribution (PYT028), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
UNREACHED = TOML["unreached"]
UV = TOML["uv"]


_NAME = later(r"[\-_.]+")


def _of_uv(hits: Hits, absent: str) -> Finding:
    return found(
        PROBLEM, UV, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, wanted=absent,
        name=re.split(r"[\[=<>~!]", absent)[0],
        why=TOML.phrase("why.offline" if hits.get("offline") else "why.online"),
    )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """With the newest versions that pip saw, or that it saw none."""
    if absent := hits.get("absent"):
        return _of_uv(hits, absent)
    seen = [each.strip() for each in (hits.get("seen") or "").split(",") if each.strip()]
    none = seen == ["none"]
    wanted = hits.get("wanted") or "?"
    name = wanted.partition("[")[0]
    for mark in ("=", "<", ">", "~", "!"):
        name = name.partition(mark)[0]
    if none and _NAME.sub("-", hits.get("index") or "").lower() == _NAME.sub("-", name).lower():
        return found(
            PROBLEM, UNREACHED, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, wanted=wanted,
            name=name, broken=hits.get("broken"),
        )  # fmt: skip
    told = TOML.phrase("none") if none else TOML.phrase("saw", newest=", ".join(seen[-3:])) if seen else ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        wanted=wanted, name=name, seen=told,
    )  # fmt: skip

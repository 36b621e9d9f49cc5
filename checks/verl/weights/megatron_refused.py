"""Judges megatron-configuration-refused (VRL027), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.shared.refusals import refused
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
HEADS = TOML["heads"]
CONNECTIONS = TOML["connections"]
SEQUENCE = TOML["sequence"]
WORLD = TOML["world"]
AGAIN = TOML["again"]
SCHEDULE = TOML["schedule"]


AGAIN_AT, SCHEDULE_AT = 3, 4  # places among the signatures
FRAME = r"[\\\\/]megatron[\\\\/](?:core|training|legacy|bridge)[\\\\/]"


#: what the scheduler asserts -> its phrase
_ASSERTED = {"self.lr_decay_steps > 0": "no_steps", "self.lr_warmup_steps < self.lr_decay_steps": "long_warmup"}


def _schedule(hits: Hits) -> Finding | None:
    asserted = hits.first.code.removeprefix("assert ").strip()
    if asserted not in _ASSERTED:
        return None
    what = TOML.phrase(f"schedule.{_ASSERTED[asserted]}")
    return found(PROBLEM, SCHEDULE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, what=what)


def _world(hits: Hits) -> Finding:
    sizes = re.findall(r"\d{1,6}", hits.get("product") or "")
    return found(
        PROBLEM,
        WORLD,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        world=hits.get("world"),
        sizes=sizes[0] if len(sizes) == 1 else "",
    )


def explain(hits: Hits) -> Finding | None:
    """Heads or GPUs that do not divide, the two that Megatron says in words, else what its message names."""
    if hits.get("world"):
        return _world(hits)
    if hits.first.signature == SCHEDULE_AT:
        return _schedule(hits)
    if hits.of(AGAIN_AT):
        return found(PROBLEM, AGAIN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    heads, size = next(iter(hits.ints("heads")), 0), next(iter(hits.ints("size")), 0)
    message = HEADS if heads and size else CONNECTIONS if hits.get("variable") else SEQUENCE
    if not (heads and size) and not hits.get("variable") and not hits.get("sequence"):
        return refused(PROBLEM, "Megatron-Core", hits, FRAME)
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        heads=heads,
        size=size,
        kind=hits.get("kind") or "",
        fitting=max((each for each in range(2, size) if heads % each == 0), default=1),
    )

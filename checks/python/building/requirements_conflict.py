"""Judges requirements-conflict (PYT038), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Phrase, found, joined
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
NO_WHEEL = TOML["no_wheel"]
UNPROVIDED = TOML["unprovided"]


_FIRST_SIGN = 4  # position of what only supports
_SIDES = 3  # of each kind that a sentence can carry
_DEPENDS = later(
    r"(?P<asker>[\w.\-\[\]=<>]{1,80}|your project) (?:depends on|needs) "
    r"(?P<need>[\w.\-\[\]=<>,!]{1,80})"
)


def explain(hits: Hits) -> Finding | None:
    """With both sides as the installer names them."""
    if all(hit.signature >= _FIRST_SIGN for hit in hits):
        return None
    if wheelless := hits.get("wheelless"):
        return found(
            PROBLEM, NO_WHEEL, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, package=wheelless,
            tag=hits.get("tag"), name=re.split("[=<>~]", wheelless)[0],
        )  # fmt: skip
    if hits.get("absent"):
        return None  # what the index does not have contradicts nothing: PYT028
    if unprovided := hits.get("unprovided"):
        build = hits.get("build")
        return found(
            PROBLEM, UNPROVIDED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            name=unprovided + (hits.get("pin") or ""), others=len(set(hits.values("unprovided"))) - 1,
            why=TOML.phrase("builds", build=build) if build else "",
        )  # fmt: skip
    sides = list(_sides(hits))
    return found(
        PROBLEM, MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if sides else LIKELY,
        sides=joined(sides, ", ", ","),
    )  # fmt: skip


def _sides(hits: Hits) -> Iterator[Phrase]:
    """Who needs what."""
    for asked in [each for each in hits.values("asked") if any(sign in each for sign in "=<>~")][:_SIDES]:
        yield TOML.phrase("asked", asked=asked)
    needs = [(hit.groups["asker"], hit.groups["need"]) for hit in hits if hit.groups.get("asker")]
    needs += [(each["asker"], each["need"]) for reason in hits.values("reason") for each in _DEPENDS.finditer(reason)]
    for asker, need in list(dict.fromkeys(needs))[:_SIDES]:
        yield TOML.phrase("needs", asker=asker, need=need.strip().rstrip(","))
    for package in hits.values("package")[:_SIDES]:
        yield TOML.phrase("part", name=" ".join(package.split()))

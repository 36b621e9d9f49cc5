"""Judges LCH6560/axolotl, a row of configuration-refused; its words stand in the TOML of the table."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.shared.refusals import finding, refused
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
FIELDS = TOML["fields"]
NONE = TOML["none"]


_VALIDATES = r"[\\/]axolotl[\\/](?:utils[\\/](?:config|schemas)|cli[\\/]config)"


def explain(hits: Hits) -> Optional[Finding]:
    """The relation that a sentence tells, else how many settings are refused and why."""
    if not hits.of(0):
        return _of_code(hits)
    if (text := hits.get("message")) and (told := finding(PROBLEM, "axolotl", hits, text)):
        return told
    types = ", ".join(f"`{each}`" for each in hits.values("type")[:4])
    null = "NoneType" in hits.values("given")
    return found(
        PROBLEM,
        FIELDS,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        commands=("axolotl config-schema",),
        count=hits.get("count") or "some",
        types=types,
        null=null,
    )


def _of_code(hits: Hits) -> Optional[Finding]:
    if hits.get("none"):
        return found(PROBLEM, NONE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    return refused(PROBLEM, "axolotl", hits, _VALIDATES) if hits.of(3) else None

"""Judges PYT0301/library_pins, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Give the range without the name that every part of it repeats."""
    wanted = hits.get("wanted") or ""
    name = hits.get("name") or ""
    accepted = ", ".join(f"`{each.strip()}`" for each in wanted.removeprefix(name).split(",") if each.strip())
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), name=name, have=hits.get("have") or "?",
        wanted=wanted, range=accepted,
    )  # fmt: skip

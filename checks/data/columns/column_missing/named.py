"""Judges DAT1825/named, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from difflib import get_close_matches

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def _names(text: str) -> list[str]:
    return [each.strip(" '\"[]") for each in text.strip("[]").split(",") if each.strip(" '\"[]")]


def explain(hits: Hits) -> Finding | None:
    """List what is there, and the likeliest of it."""
    wanted, there = _names(hits.get("wanted") or ""), _names(hits.get("there") or "")
    near = [each for name in wanted for each in get_close_matches(name, there, 1, 0.5)]
    shown = ", ".join(f"`{each}`" for each in there[:12])
    likely = ", ".join(f"`{each}`" for each in near)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        wanted=", ".join(f"`{each}`" for each in wanted[:4]),
        there=there, shown=shown,
        near=near, likely=likely,
    )  # fmt: skip

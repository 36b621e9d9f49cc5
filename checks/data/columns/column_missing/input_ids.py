"""Judges DAT1825/input_ids, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OTHER_NAMES = TOML["other_names"]


#: columns in which the trainers of TRL keep tokens
_TOKENS = later(r"(?:prompt|chosen|rejected|completion|answer)_(?:input_)?ids")


def explain(hits: Hits) -> Finding | None:
    """List the columns that were there."""
    there = [each.strip(" '\"") for each in (hits.get("there") or "").strip("[]").split(",")]
    names = ", ".join(f"`{each}`" for each in there[:6] if each) or "nothing"
    tokenized = any(_TOKENS.fullmatch(each) for each in there)
    return found(
        PROBLEM,
        OTHER_NAMES if tokenized else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if tokenized else CONFIRMED,
        wanted=hits.get("wanted") or "input_ids",
        there=names,
    )

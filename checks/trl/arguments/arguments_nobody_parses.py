"""Judges arguments-nobody-parses (TRL064), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Name the arguments; mere values only where no name is among them."""
    words = re.findall(r"['\"]([^'\"\n]{1,60})['\"]", hits.get("names") or "")
    names = [each for each in words if each.startswith("-")] or words
    if not names:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        names=", ".join(f"`{each}`" for each in names[:4]),
    )  # fmt: skip

"""Judges reward-not-defined (VRL024), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_CHOICE = r"reward_score[\\/]__init__\.py:"


def explain(hits: Hits) -> Finding | None:
    """Old releases do not say which data source it is: there the choice itself must have raised."""
    named = hits.get("source")
    told = named is not None or any("data_source=" in each.text for each in hits)
    if not told and not re.search(_CHOICE, hits.first.frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        source=TOML.phrase("source.named", named=named or "") if told else TOML.phrase("source.some"),
    )  # fmt: skip

"""Judges deepspeed-auto-not-filled (DSP036), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Name the keys by their last parts."""
    keys = re.findall(r"[\w.]{4,80}", hits.get("keys") or "")
    shown = ", ".join(f"`{each.rpartition('.')[2]}`" for each in keys)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), keys=shown)

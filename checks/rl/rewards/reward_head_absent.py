"""Judges reward-head-absent (RLX030), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Name the folder that the loader warned of."""
    folder = hits.get("folder") or ""
    path = folder if re.fullmatch(r"[\w./\-]{1,200}", folder) else "REWARD_MODEL"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), folder=f"`{path}`", path=path,
    )  # fmt: skip

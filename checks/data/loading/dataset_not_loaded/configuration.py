"""Judges DAT1752/configuration, a row of dataset-not-loaded; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_WRONG = TOML["log_wrong"]


def explain(hits: Hits) -> Finding | None:
    """Name the configurations that exist."""
    names = re.findall(r"'([^']{1,80})'", hits.get("configs") or "")
    config = hits.get("config")
    return found(
        PROBLEM,
        LOG_MESSAGE_WRONG if config else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        config=config,
        configs=", ".join(f"`{name}`" for name in names[:6]) or "several",
        first=names[0] if names else "CONFIG",
    )

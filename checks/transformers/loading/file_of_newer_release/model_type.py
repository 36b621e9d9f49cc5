"""Judges TRF0073/model_type, a row of file-of-newer-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NONE = TOML["log_none"]
LOG_MESSAGE_PART = TOML["log_part"]


def explain(hits: Hits) -> Finding | None:
    """Tell a type that is too new from a folder without one."""
    known, path, part = hits.get("type"), hits.get("path"), hits.get("part")
    if part and not known:
        return found(
            PROBLEM, LOG_MESSAGE_PART, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, part=part,
            path=path, commands=("pip install -U transformers",),
        )  # fmt: skip
    return found(
        PROBLEM,
        LOG_MESSAGE if known else LOG_MESSAGE_NONE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("pip install -U transformers",) if known else (),
        type=known,
        path=path,
    )

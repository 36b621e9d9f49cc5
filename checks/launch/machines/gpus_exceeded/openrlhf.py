"""Judges LCH5095/openrlhf, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_ROLES = TOML["log_roles"]


def explain(hits: Hits) -> Finding | None:
    """Tell the engines from the roles."""
    actor = hits.get("actor")
    return found(
        PROBLEM,
        LOG_MESSAGE if actor else LOG_MESSAGE_ROLES,
        where=hits.where(),
        evidence=hits.evidence(),
        actor=actor,
        engines=hits.get("engines"),
        roles=hits.get("roles"),
    )

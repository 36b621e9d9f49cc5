"""Judges ray-node-marked-dead (RAY023), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
CRASHED = TOML["crashed"]


def explain(hits: Hits) -> Finding:
    """The word of the node itself counts more than that of an actor that lost it."""
    own = any(not hit.groups.get("crashed") for hit in hits)
    return found(
        PROBLEM,
        LOG_MESSAGE if own else CRASHED,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )

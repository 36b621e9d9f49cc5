"""Judges topology-file-refused (NCC038), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NO_TREE = TOML["no_tree"]


def explain(hits: Hits) -> Finding:
    """A file that lacks something, or a tree that is not there."""
    bus = hits.first.groups.get("bus")
    return found(
        PROBLEM, NO_TREE if bus else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        bus=bus, attribute=hits.get("attribute"), node=hits.get("node"),
    )  # fmt: skip

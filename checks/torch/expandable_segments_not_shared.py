"""Judges expandable-segments-not-shared (TOR039), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
GONE = TOML["gone"]


_COMMANDS = ("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False",)


def explain(hits: Hits) -> Finding:
    """A system that does not allow it, or an owner that is not there."""
    gone = hits.first.groups.get("gone")
    return found(
        PROBLEM, GONE if gone else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=_COMMANDS,
        confidence=LIKELY if gone else CONFIRMED, call=hits.first.groups["call"],
    )  # fmt: skip

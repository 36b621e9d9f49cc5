"""Judges reward-tasks-failed (VRL043), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
RAISED = TOML["raised"]
UNSENT = TOML["unsent"]
LATE = TOML["late"]


def explain(hits: Hits) -> Finding:
    """What the first failed sample says; a function that cannot be sent fails for all of them."""
    return found(
        PROBLEM, hits.choice({"unsent": UNSENT, "raised": RAISED, "late": LATE}, RAISED), where=hits.where(),
        evidence=hits.evidence(), confidence=LIKELY, count=hits.count,
    )  # fmt: skip

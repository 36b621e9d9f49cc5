"""Judges chat-roles-refused (DAT020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
TOOLS = TOML["tools"]
ANSWER = TOML["answer"]


def explain(hits: Hits) -> Finding:
    """The model's template refuses, or ms-swift's own."""
    given = hits.get("given")
    return found(
        PROBLEM,
        ANSWER if given else TOOLS if hits.get("tools") else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        given=given,
    )

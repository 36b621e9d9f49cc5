"""Judges function-where-model-expected (TRL065), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: files in which TRL handles its models; reward functions run below those of GRPO
_TRL = r"trl[\\/](?:trainer|experimental|models)[\\/](?!\S*(?:grpo|rloo))"


def explain(hits: Hits) -> Finding | None:
    """Only where TRL itself asked; what a function of the user asks for is another matter."""
    if not re.search(_TRL, hits.first.frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), name=hits.first.groups["name"]
    )  # fmt: skip

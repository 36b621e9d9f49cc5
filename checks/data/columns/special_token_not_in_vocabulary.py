"""Judges special-token-not-in-vocabulary (DAT034), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PLACEHOLDER = TOML["placeholder"]


def explain(hits: Hits) -> Finding | None:
    """Unsloth's placeholders have a cause of their own."""
    message = PLACEHOLDER if hits.first.groups["token"] in ("<EOS_TOKEN>", "<PAD_TOKEN>") else LOG_MESSAGE
    values: dict[str, Any] = dict(hits.first.groups)
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), **values)

"""Judges hooks-before-first-step (TRL052), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands


_HOOKS = 0


def explain(hits: Hits) -> Finding | None:
    """A copied line without its traceback can hardly mean anything else: no other code asks a bare model for it."""
    traced = bool(hits.of(_HOOKS))
    if not traced and hits.first.frames:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        confidence=CONFIRMED if traced else LIKELY, model=hits.get("model") or "",
    )  # fmt: skip

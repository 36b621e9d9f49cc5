"""Judges PYT0301/accelerate, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_OLD = TOML["log_old"]
LOG_MESSAGE_PAIR = TOML["log_pair"]
LOG_MESSAGE_OWN = TOML["log_own"]


_LIBRARY = later(r"[\\/](?:transformers|trl)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Say which of the two is behind; a class of one's own may take arguments of the same names."""
    old, first = hits.get("old"), hits.first
    by_library = any(_LIBRARY.search(each) for each in first.frames)
    if old and not by_library and "Accelerator" not in first.text + first.code:
        return None
    commands: tuple[str, ...] = ("pip install -U accelerate transformers",)
    if old and (by_library or not first.frames):
        message, commands = LOG_MESSAGE, ("pip install -U transformers",)
    elif old:
        message, commands = LOG_MESSAGE_OWN, ('pip install "accelerate<1.0"',)
    elif hits.get("owner"):
        message = LOG_MESSAGE_PAIR
    else:
        message, commands = LOG_MESSAGE_OLD, ("pip install -U accelerate",)
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is LOG_MESSAGE_PAIR or not first.frames else CONFIRMED,
        commands=commands,
        name=old or hits.get("new"),
        where_used=hits.get("owner") or "unwrap_model",
    )

"""Judges TRK7026/wandb_timeout, a row of tracker-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands


def explain(hits: Hits) -> Finding:
    """With the seconds, where it waited for them; a time-out alone may be a slow disk or machine as well.

    `debug.log` has a traceback of every attempt that is made again: alone, without a time-out, they prove no end.
    """
    gave_up = bool(hits.of(0))
    seconds = hits.get("seconds")
    told = any(hit.signature and (gave_up or not (hit.frames and _RETRY.search(hit.frames[0]))) for hit in hits)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        confidence=CONFIRMED if told else LIKELY,
        seconds=seconds,
    )  # fmt: skip


_RETRY = later(r"wandb[\\/]sdk[\\/]lib[\\/]retry\.py:__call__$")

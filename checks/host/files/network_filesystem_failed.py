"""Judges network-filesystem-failed (HST016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
STALE = TOML["stale"]
INPUT = TOML["input"]
TERMINAL = TOML["terminal"]
EITHER = TOML["either"]
BUSY = TOML["busy"]
GONE = TOML["gone"]


#: errors that a local file system in order does not give, by the system's own number
NUMBERS = {"116": "stale", "5": "input", "107": "gone", "108": "gone", "121": "gone", "70": "gone", "112": "gone"}

#: where a traceback ends when text was being printed, not a file of the run read or written
_PRINTING = later(
    r"(?:^|/)(?:tqdm/\S{1,60}|logging/__init__\.py|loguru/\S{1,60}|wandb/sdk/lib/redirect\.py|rich/\S{1,"
    r"60}|colorama/\S{1,60}"
    r"|click/\S{1,60}):\w{1,60}$|:(?:status_printer|fp_write|write_through|print)$"
)


WORDS = {"stale": STALE, "input": INPUT, "gone": GONE}


def explain(hits: Hits) -> Finding:
    """A stale handle, a device that fails, a connection that is gone; without a path perhaps only a terminal."""
    gone = hits.get("shell") or hits.get("rust")
    kind = "stale" if hits.get("stale") else "gone" if gone else NUMBERS.get(hits.get("number") or "", "busy")
    path = hits.get("path") or hits.get("folder")
    message = WORDS.get(kind, BUSY)
    unsure = len(hits.of(6)) == len(hits.kept)
    if unsure:
        printing = any(_PRINTING.search(frame) for hit in hits for frame in hit.frames[-2:])
        message = TERMINAL if printing else EITHER
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        severity=WARNING if kind == "busy" else ERROR,
        confidence=LIKELY if kind == "busy" or unsure or (kind == "gone" and not path) else CONFIRMED,
        path=path,
        commands=("df -hT .", "dmesg -T | tail -50"),
    )

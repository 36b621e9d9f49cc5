"""Judges compiler-broken (TOR017), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_PYTHON = TOML["log_python"]
LOG_MESSAGE_HEADER = TOML["log_header"]
LOG_MESSAGE_LINK = TOML["log_link"]
LOG_MESSAGE_LIBC = TOML["log_libc"]
LOG_MESSAGE_LDCONFIG = TOML["log_ldconfig"]
LOG_MESSAGE_COMMAND = TOML["log_command"]
LOG_MESSAGE_WINDOWS = TOML["log_windows"]


def explain(hits: Hits) -> Finding | None:
    """What the compiler lacks tells what to install."""
    header, library = hits.get("header"), hits.get("library")
    if hits.get("ldconfig"):
        return found(PROBLEM, LOG_MESSAGE_LDCONFIG, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    if hits.get("windows"):
        return found(PROBLEM, LOG_MESSAGE_WINDOWS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if hits.of(0) or hits.of(1):
        message = LOG_MESSAGE
    elif header:
        message = LOG_MESSAGE_PYTHON if header == "Python.h" else LOG_MESSAGE_HEADER
    else:
        message = LOG_MESSAGE_COMMAND
        if library:
            message = LOG_MESSAGE_LINK if library == "cuda" else LOG_MESSAGE_LIBC
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is LOG_MESSAGE_COMMAND else CONFIRMED,
        header=header,
        library=library,
    )

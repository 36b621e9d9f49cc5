"""Judges ray-socket-path-too-long (RAY020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_COMMANDS = TOML.commands
LOG_MESSAGE = TOML["log"]
ZMQ = TOML["zmq"]


def explain(hits: Hits) -> Finding:
    """Sockets of Ray, or of engines that speak ZeroMQ."""
    path = hits.get("path")
    return found(
        PROBLEM,
        ZMQ if path else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        commands=("export TMPDIR=/tmp/$USER",) if path else LOG_COMMANDS,
        folder=hits.get("folder") or "",
        limit=hits.get("limit"),
        length=len(path or ""),
    )

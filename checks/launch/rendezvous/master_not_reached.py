"""Judges master-not-reached (LCH020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.stillness import LastConnection
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_LOCAL = TOML["log_local"]
LOG_MESSAGE_DOCKER = TOML["log_docker"]
LOG_MESSAGE_ABSENT = TOML["log_absent"]
LOG_MESSAGE_ALONE = TOML["log_alone"]
LAST_WORDS = {"refused": TOML["refused"], "silent": TOML["silent"], "lost": TOML["lost"]}
ELSEWHERE = TOML["elsewhere"]

#: a script that plain python starts, alone on its line, and what starts several
_PLAIN = later(r"(?m)^\s*(?:[$>] ?)?(?P<command>python[\d.]*(?: -u)? (?P<script>[\w./\-]{1,120}\.py))(?:\s|$)")
_STARTS_SEVERAL = later(
    r"(?i)torchrun|torch\.distributed\.|accelerate|deepspeed|\b(?:srun|mpirun|ray|spawn|slurm)\b|&\s*$|\bnohup\b|(?-i:RANK=)"
)


def explain(hits: Hits) -> Finding | None:
    """With the meeting point and the number of ranks that came, where told."""
    if all(hit.groups.get("static") or hit.groups.get("standalone") for hit in hits):
        return None
    alone = hits.choice({name: TOML.phrase(name) for name in ("standalone", "static")}, None)
    if alone and not hits.get("host") and not hits.get("came"):
        return found(
            PROBLEM, LOG_MESSAGE_LOCAL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, local=alone,
        )  # fmt: skip
    host, came, wanted = hits.get("host"), hits.get("came"), hits.get("wanted")
    plain = _PLAIN.search(hits.context)
    if came == "1" and plain is not None and not _STARTS_SEVERAL.search(hits.context):
        return found(
            PROBLEM, LOG_MESSAGE_ALONE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, came=came,
            wanted=wanted, seconds=hits.get("seconds") or "", command=plain["command"], script=plain["script"],
        )  # fmt: skip
    return found(
        PROBLEM,
        LOG_MESSAGE_DOCKER if (host or "").startswith("172.17.") else LOG_MESSAGE_ABSENT if came else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        host=host or "",
        port=hits.get("port") or "",
        came=came or "",
        wanted=wanted or "",
        seconds=hits.get("seconds") or "",
        agent=hits.get("agent") or "",
    )


def of_connection(connection: LastConnection) -> Finding:
    """Say what the last words of ranks tell of the store; asked by `doctor.logs.failures.connections`."""
    return found(
        PROBLEM, ELSEWHERE if connection.first else LAST_WORDS[connection.state], where=connection.where,
        evidence=connection.evidence, confidence=LIKELY, severity=WARNING if connection.state == "lost" else ERROR,
        host=connection.host, port=connection.port, ranks=connection.ranks, first=connection.first,
    )  # fmt: skip

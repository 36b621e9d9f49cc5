"""Judges master-not-reached (LCH020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_LOCAL = TOML["log_local"]
LOG_MESSAGE_DOCKER = TOML["log_docker"]
LOG_MESSAGE_ABSENT = TOML["log_absent"]


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

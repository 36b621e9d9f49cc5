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


_STATIC = (
    (
        "With `--rdzv-backend c10d` the options `--master_addr` and `--master_port` count for nothing, and "
        "`--rdzv-endpoint` was not given."
    ),
    "使用 `--rdzv-backend c10d` 时 `--master_addr` 和 `--master_port` 不起作用,而 `--rdzv-endpoint` 没有给出。",
)
_STANDALONE = (
    "`--standalone` is for one machine: it overrides `--master_addr` and `--rdzv-endpoint` with `localhost:0`.",
    "`--standalone` 只用于单机:它用 `localhost:0` 覆盖 `--master_addr` 和 `--rdzv-endpoint`。",
)


def explain(hits: Hits) -> Finding | None:
    """With the meeting point and the number of ranks that came, where told."""
    if all(hit.groups.get("static") or hit.groups.get("standalone") for hit in hits):
        return None
    alone = hits.choice({"standalone": _STANDALONE, "static": _STATIC}, None)
    if alone and not hits.get("host") and not hits.get("came"):
        return found(
            PROBLEM, LOG_MESSAGE_LOCAL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, local=alone[0],
            local_zh=alone[1],
        )  # fmt: skip
    host, came, wanted = hits.get("host"), hits.get("came"), hits.get("wanted")
    return found(
        PROBLEM,
        LOG_MESSAGE_DOCKER if (host or "").startswith("172.17.") else LOG_MESSAGE_ABSENT if came else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        at=f" at {host}:{hits.get('port')}" if host else "",
        count=f" ({came} of {wanted} came)" if came else "",
        host=host or "",
        port=hits.get("port") or "",
        came=came or "",
        wanted=wanted or "",
        seconds=hits.get("seconds") or "",
    )

"""Judges rank-killed (LCH018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
OF_RANK = TOML["of_rank"]
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands


def explain(hits: Hits) -> Finding | None:
    """Name the rank where the launcher's table gives one to the local rank that was killed."""
    local = hits.get("local_rank")
    ranks = {hit.groups["rank"] for hit in hits if hit.groups.get("rank") and hit.groups.get("local") == local}
    rank = int(next(iter(ranks))) if len(ranks) == 1 else None
    where = hits.where() if rank is None else replace(hits.where(), rank=rank)
    return found(
        PROBLEM, LOG_MESSAGE if rank is None else OF_RANK, where=where, evidence=hits.evidence(), confidence=LIKELY,
        commands=LOG_COMMANDS, rank=rank,
    )  # fmt: skip

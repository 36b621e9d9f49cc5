"""Judges VLL5449/task, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
TASK = TOML["task"]
CALL = TOML["call"]
ROUTE = TOML["route"]


def explain(hits: Hits) -> Finding:
    """A task at the start, a call, or a route."""
    told = hits.first.groups
    pooling = "pooling" in (told.get("kind") or "") or "embed" in (told.get("kind") or "")
    return found(
        PROBLEM,
        TASK if told.get("task") else CALL if told.get("call") else ROUTE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        task=told.get("task") or "",
        tasks=(told.get("tasks") or "").strip("{}[]").replace("'", "`"),
        call=(told.get("call") or "").strip("`"),
        pooling=pooling,
        api=told.get("api") or "",
    )

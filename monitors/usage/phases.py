"""When the run was in which phase: from the marks that its processes left, the innermost of nested ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: letters of a run's own name for a phase
_LONGEST = 40


@dataclass(frozen=True)
class Phase:
    """A stretch of time, in seconds since the epoch."""

    name: str
    begin_s: float
    end_s: float


def marked(events: Iterable[dict[str, Any]]) -> list[Phase]:
    """Phases of the process of the lowest rank that marked any; one that never ended lasts until its last event."""
    marks: dict[tuple[int, str, int], list[dict[str, Any]]] = {}
    for event in events:
        if event["kind"] == "phase":
            rank = event.get("rank")
            key = (1 << 30 if rank is None else rank, str(event.get("host")), int(event.get("pid") or 0))
            marks.setdefault(key, []).append(event)
    return _of_one(marks[min(marks)]) if marks else []


def _of_one(events: list[dict[str, Any]]) -> list[Phase]:
    found: list[Phase] = []
    open_names: list[str] = []
    since_s = 0.0
    for event in events:
        at_s = event["t_ns"] / 1e9
        if open_names and at_s > since_s:
            found.append(Phase(open_names[-1], since_s, at_s))
        since_s = at_s
        name = _name(event["data"])
        if event["data"].get("edge") == "begin":
            open_names.append(name)
        elif name in open_names:
            # what was begun inside and never ended (an exception, a killed thread) ends with it
            del open_names[len(open_names) - 1 - open_names[::-1].index(name) :]
    return found


def _name(mark: dict[str, Any]) -> str:
    """A phase by its name; one of the run's own making by the name that the run gave it."""
    label = mark.get("label")
    return f"{mark.get('name')}: {str(label)[:_LONGEST]}" if label else str(mark.get("name"))

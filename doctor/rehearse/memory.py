"""What a rehearsal at real scale says of memory: peaks beside what there is, and the time of a step."""

from __future__ import annotations

from typing import Any

from doctor.rehearse.record import Rehearsed

_GIB = 1 << 30


def memory_of(done: Rehearsed) -> dict[str, str]:
    """Peaks beside what there is, by what they are of; empty for a rehearsal with a tiny model."""
    found: dict[str, str] = {}
    for each in done.of("memory"):
        for name, part in each.get("parts", {}).items():
            found[f"{name}, rank {each['rank']}"] = _told(part)
    return found


def _told(part: dict[str, Any]) -> str:
    peak, total = part["peak_bytes"] / _GIB, part.get("total_bytes")
    if not total:
        return f"{peak:.1f} GiB"
    return f"{peak:.1f} GiB of {total / _GIB:.1f} GiB ({peak * _GIB / total:.0%})"

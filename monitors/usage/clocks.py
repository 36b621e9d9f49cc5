"""Brings the clocks of sampled hosts together."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doctor.monitors.usage.clock import Clock
from doctor.monitors.usage.numbers import between

if TYPE_CHECKING:
    from doctor.monitors.usage.tracks import Track, Usage

#: comparisons so many times worse than the best of a host are left out
WORSE = 3.0


def align(usage: Usage) -> None:
    """Move figures and events of each host by its clock's offset."""
    told: dict[str, list[tuple[float, float, float]]] = {}
    for event in usage.events:
        data = event["data"]
        if event["kind"] == "monitor" and data.get("what") == "clock":
            told.setdefault(str(data["of"]), []).append((event["t_ns"] / 1e9, data["offset_s"], data["error_s"]))
    for host, comparisons in told.items():
        best = min(error for _, _, error in comparisons)
        kept = [each for each in comparisons if each[2] <= WORSE * best]
        _, widest, error_s = max(kept, key=lambda each: abs(each[1]))
        moved = abs(widest) > error_s
        usage.clocks[host] = Clock(float(widest), float(max(each[2] for each in kept)), moved)
        if moved:
            _move(usage, host, [each[0] for each in kept], [each[1] for each in kept])
    usage.events.sort(key=lambda each: int(each["t_ns"]))


def _move(usage: Usage, host: str, t: Sequence[float], offset: Sequence[float]) -> None:
    moved: dict[int, tuple[Any, Any]] = {}  # figures share their times

    def times(track: Track) -> None:
        if id(track.t) not in moved:  # the old is kept: ids stay unique
            moved[id(track.t)] = (array("d", [at - between(at, t, offset) for at in track.t]), track.t)
        track.t = moved[id(track.t)][0]

    for key, figures in usage.gpus.items():
        for track in figures.values() if key.host == host else ():
            times(track)
    for track in usage.hosts.get(host, {}).values():
        times(track)
    for (key, _), track in usage.engines.items():
        if key.host == host:
            times(track)
    for event in usage.events:
        if event.get("host") == host:
            event["t_ns"] -= int(1e9 * between(event["t_ns"] / 1e9, t, offset))

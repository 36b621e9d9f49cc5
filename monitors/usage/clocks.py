"""Brings the clocks of sampled hosts together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doctor.monitors.usage.clock import Clock

if TYPE_CHECKING:
    from doctor.monitors.usage.tracks import Track, Usage

#: comparisons so many times worse than the best of a host are left out
WORSE = 3.0


def align(usage: Usage) -> None:
    """Move figures and events of each host by its clock's offset."""
    import numpy as np

    told: dict[str, list[tuple[float, float, float]]] = {}
    for event in usage.events:
        data = event["data"]
        if event["kind"] == "monitor" and data.get("what") == "clock":
            told.setdefault(str(data["of"]), []).append((event["t_ns"] / 1e9, data["offset_s"], data["error_s"]))
    for host, comparisons in told.items():
        best = min(error for _, _, error in comparisons)
        t, offset, error = np.array([each for each in comparisons if each[2] <= WORSE * best]).T
        widest = int(np.abs(offset).argmax())
        moved = bool(abs(offset[widest]) > error[widest])
        usage.clocks[host] = Clock(float(offset[widest]), float(error.max()), moved)
        if moved:
            _move(usage, host, t, offset)
    usage.events.sort(key=lambda each: int(each["t_ns"]))


def _move(usage: Usage, host: str, t: Any, offset: Any) -> None:
    import numpy as np

    moved: dict[int, Any] = {}  # figures share their times

    def times(track: Track) -> None:
        if id(track.t) not in moved:
            moved[id(track.t)] = (track.t - np.interp(track.t, t, offset), track.t)  # the old is kept: ids stay unique
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
            event["t_ns"] -= int(1e9 * float(np.interp(event["t_ns"] / 1e9, t, offset)))

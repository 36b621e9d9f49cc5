"""What the page of a report draws: figures down-sampled so that no peak is lost, phases, events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from doctor.monitors.usage.judged import Summary
from doctor.monitors.usage.numbers import Grid, binned, told
from doctor.monitors.usage.peers import medians
from doctor.monitors.usage.tracks import GpuKey, Track, Usage
from doctor.render.usage_page import Band, Lines, Moment

#: figure of a GPU -> title
_GPU = {
    "sm_active_pct": "SM active %", "gpu_busy_pct": "GPU busy % (utilization.gpu)",
    "tensor_active_pct": "tensor active %", "power_w": "power W", "memory_used_mib": "GPU memory MiB",
    "sm_clock_mhz": "SM clock MHz",
    "temperature_c": "temperature °C",
}  # fmt: skip
_HOST = {"cpu_pct": "host CPU %", "memory_used_mib": "host memory MiB", "shm_used_mib": "shared memory MiB"}

#: points of a line; a screen has no more columns. Bands and moments that a page can hold
POINTS, MOST_BANDS, MOST_MOMENTS = 2000, 3000, 200

#: lines that a plot can hold; of more, those that depart from the others are drawn by name
MOST_LINES, MOST_NAMED = 32, 8

Line = tuple[str, list[float], list[float]]


def of_run(usage: Usage, summary: Summary) -> tuple[list[Lines], list[Band], list[Moment]]:
    """Plots, bands and moments."""
    gpus = {_label(usage, key): each for key, each in usage.gpus.items()}
    named = [_label(usage, key) for key in medians(usage, summary.grid)][:MOST_NAMED]
    found = []
    for titles, figures, of in ((_GPU, gpus, "GPUs"), (_HOST, usage.hosts, "nodes")):
        for name, title in titles.items():
            tracks = {label: each[name] for label, each in figures.items() if name in each}
            if tracks:
                found.append(Lines(title, _lines(tracks, named, of, summary.grid)))
    bands = [Band(each.name, each.begin_s, each.end_s) for each in summary.stretches]
    longest = sorted(bands, key=lambda each: each.begin_s - each.end_s)[:MOST_BANDS]
    return found, sorted(longest, key=lambda each: each.begin_s), _moments(usage)


def _label(usage: Usage, key: GpuKey) -> str:
    """A GPU's name in a legend: with its host where there are several."""
    return usage.label(key) if usage.several_hosts else f"GPU {usage.label(key)}"


def _lines(tracks: dict[str, Track], named: list[str], of: str, grid: Grid) -> list[Line]:
    """A line for each; of many, what the middle, the lowest and the highest of all did, and those that depart."""
    if len(tracks) <= MOST_LINES:
        return [_line(label, track) for label, track in tracks.items()]
    coarse = Grid(grid.begin_s, max(grid.width_s, grid.width_s * grid.count / POINTS), min(grid.count, POINTS))
    columns = enumerate(zip(*(binned(track, coarse) for track in tracks.values()), strict=True))
    kept = [(at, values) for at, column in columns if (values := told(column))]
    middles = [coarse.begin_s + coarse.width_s * (at + 0.5) for at, _ in kept]
    every: tuple[tuple[str, Callable[[list[float]], float]], ...] = (
        ("median", median), ("lowest", min), ("highest", max),
    )  # fmt: skip
    found = [
        _line(f"{name} of {len(tracks)} {of}", Track.of(zip(middles, (how(each) for _, each in kept), strict=True)))
        for name, how in every
    ]
    return found + [_line(label, tracks[label]) for label in named if label in tracks]


def _line(name: str, track: Track) -> Line:
    kept = thinned(track.v)
    return name, [round(track.t[at], 2) for at in kept], [round(track.v[at], 3) for at in kept]


def thinned(values: Sequence[float]) -> Sequence[int]:
    """Positions of at most POINTS values: of each stretch the lowest and the highest, so that no peak is lost."""
    if len(values) <= POINTS:
        return range(len(values))
    stretches = POINTS // 2 - 1
    kept = [0]
    for number in range(stretches):
        first, last = number * len(values) // stretches, (number + 1) * len(values) // stretches
        within = list(values[first:last])
        kept += sorted((first + within.index(min(within)), first + within.index(max(within))))
    return list(dict.fromkeys([*kept, len(values) - 1]))


def _moments(usage: Usage) -> list[Moment]:
    found = []
    for event in usage.events:
        data = event["data"]
        if event["kind"] == "gpu" and data.get("what") in {"xid", "lost", "back"}:
            label = f"Xid {data['xid']}" if data["what"] == "xid" else str(data["what"])
            found.append(Moment(event["t_ns"] / 1e9, f"GPU {data.get('gpu')} {label}"))
        elif event["kind"] in {"alarm", "exception", "hang"}:
            found.append(Moment(event["t_ns"] / 1e9, str(event.get("id") or event["kind"])))
    return found[:MOST_MOMENTS]

"""What the page of a report draws: figures down-sampled so that no peak is lost, phases, events."""

from __future__ import annotations

from typing import Any

from doctor.monitors.usage import Summary
from doctor.monitors.usage_files import Track, Usage
from doctor.render.usage_page import Band, Lines, Moment

#: figure of a GPU -> title
_GPU = {
    "sm_active_pct": "SM active %", "gpu_busy_pct": "GPU busy % (utilization.gpu)",
    "tensor_active_pct": "tensor active %", "power_w": "power W", "memory_used_mib": "GPU memory MiB",
    "sm_clock_mhz": "SM clock MHz",
    "temperature_c": "temperature C",
}  # fmt: skip
_HOST = {"cpu_pct": "host CPU %", "memory_used_mib": "host memory MiB", "shm_used_mib": "shared memory MiB"}

#: points of a line; a screen has no more columns. Bands and moments that a page can hold
POINTS, MOST_BANDS, MOST_MOMENTS = 2000, 3000, 200


def of_run(usage: Usage, summary: Summary) -> tuple[list[Lines], list[Band], list[Moment]]:
    """Plots, bands and moments."""
    found = []
    for name, title in _GPU.items():
        lines = [_line(usage.label(key), each[name]) for key, each in usage.gpus.items() if name in each]
        if lines:
            found.append(Lines(title, lines))
    for name, title in _HOST.items():
        lines = [_line(host, each[name]) for host, each in usage.hosts.items() if name in each]
        if lines:
            found.append(Lines(title, lines))
    bands = [Band(each.name, each.begin_s, each.end_s) for each in summary.stretches]
    longest = sorted(bands, key=lambda each: each.begin_s - each.end_s)[:MOST_BANDS]
    return found, sorted(longest, key=lambda each: each.begin_s), _moments(usage)


def _line(name: str, track: Track) -> tuple[str, list[float], list[float]]:
    import numpy as np

    t, v = np.ascontiguousarray(track.t), np.ascontiguousarray(track.v, dtype="float64")
    if len(t) > POINTS:
        from tsdownsample import MinMaxLTTBDownsampler

        kept: Any = MinMaxLTTBDownsampler().downsample(t, v, n_out=POINTS)
        t, v = t[kept], v[kept]
    return name, np.round(t, 2).tolist(), np.round(v, 3).tolist()


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

"""Reads what people have already: `nvidia-smi --query-gpu=... --format=csv -lms` and `nvidia-smi dmon`.

Both call `utilization.gpu` by other names; the `sm` column of dmon is the same figure and no SM activity.
https://docs.nvidia.com/deploy/nvidia-smi/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from doctor.monitors.usage_files import GpuKey, NotUsage, Track, Usage

#: nvidia-smi's property, without unit -> column
_QUERY = {
    "utilization.gpu": "gpu_busy_pct", "utilization.memory": "memory_busy_pct", "memory.used": "memory_used_mib",
    "power.draw": "power_w", "power.draw.instant": "power_w", "power.draw.average": "power_w",
    "temperature.gpu": "temperature_c", "clocks.current.sm": "sm_clock_mhz", "clocks.sm": "sm_clock_mhz",
    "pcie.link.width.current": "pcie_width", "pcie.link.width.max": "pcie_width_max",
    "ecc.errors.uncorrected.volatile.total": "ecc_uncorrected",
    "ecc.errors.corrected.volatile.total": "ecc_corrected",
}  # fmt: skip
#: of the clock event reasons, which are Active or Not Active: property's last part -> NVML's bit
_EVENTS = {"hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80, "sw_thermal_slowdown": 0x20,
           "hw_slowdown": 0x8, "sw_power_cap": 0x4}  # fmt: skip
#: dmon's column -> ours
_DMON = {
    "sm": "gpu_busy_pct", "mem": "memory_busy_pct", "fb": "memory_used_mib", "pwr": "power_w", "gtemp": "temperature_c",
    "temp": "temperature_c", "pclk": "sm_clock_mhz", "rxpci": "pcie_rx_mib_s", "txpci": "pcie_tx_mib_s",
    "smutil": "sm_active_pct", "smocc": "sm_occupancy_pct", "gract": "graphics_active_pct", "dramut": "dram_active_pct",
    "dbecc": "ecc_uncorrected", "sbecc": "ecc_corrected",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_FORMATS = ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y%m%d %H:%M:%S", "%H:%M:%S")


def read(path: Path) -> Usage:
    """Figures of such a file.

    Raises:
        NotUsage: it is none of them, or lacks what a report needs.
        OSError: it cannot be read.

    """
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = (line.rstrip("\r\n") for line in file)
        first = next((line for line in lines if line.strip()), "")
        usage = Usage(path.name)
        if not first:
            raise NotUsage(f"{path} is empty")
        if re.match(r"#\s*(gpu|date|time)\b", first, re.IGNORECASE):
            rows = _dmon(first, lines, usage)
        elif "," in first and re.search(r"\b(timestamp|utilization\.gpu|memory\.used|power\.draw)", first):
            rows = _query(first, lines, path)
        else:
            raise NotUsage(f"{path} is neither the doctor's nor nvidia-smi's (it begins with `{first[:60]}`)")
        _fill(usage, rows)
    if not usage.gpus:
        raise NotUsage(f"{path} has a header and no row that could be read")
    usage.notes.append(f"{path.name}: from nvidia-smi; its times are the machine's local ones, taken as they are")
    return usage


Row = tuple[int, float, dict[str, float]]


def _fill(usage: Usage, rows: Iterator[Row]) -> None:
    import numpy as np

    found: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for gpu, t_s, values in rows:
        figures = found.setdefault(gpu, {})
        for name, value in values.items():
            figures.setdefault(name, []).append((t_s, value))
    for gpu, figures in sorted(found.items()):
        key = GpuKey("", gpu)
        arrays = ((name, np.array(sorted(pairs)).T) for name, pairs in figures.items())
        usage.gpus[key] = {name: Track(t, v) for name, (t, v) in arrays}
        usage.sources[key] = "dmon --gpm-metrics" if "sm_active_pct" in figures else ""


def _query(head: str, lines: Iterator[str], path: Path) -> Iterator[Row]:
    names = [re.sub(r"\s*\[.*\]", "", cell.strip()) for cell in head.split(",")]
    if "timestamp" not in names:
        raise NotUsage(f"{path} has no `timestamp`: add it to --query-gpu, for without it no row has a time")
    order: dict[str, int] = {}
    for line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        row = dict(zip(names, cells, strict=False))
        t_s = _time(row.get("timestamp", ""))
        if len(cells) != len(names) or t_s is None:
            continue  # a torn line, or a header repeated
        who = row.get("index") or row.get("uuid") or row.get("pci.bus_id") or row.get("gpu_bus_id") or "0"
        gpu = int(who) if who.isdecimal() else order.setdefault(who, len(order))
        yield gpu, t_s, _query_values(row)


def _query_values(row: dict[str, str]) -> dict[str, float]:
    values = {}
    for name, text in row.items():
        column = _QUERY.get(name)
        if column is not None and (number := _number(text)) is not None:
            values[column] = number
    told = {bit: row[name] for name in row for part, bit in _EVENTS.items() if name.endswith("." + part)}
    if told:
        values["throttle"] = float(sum(bit for bit, text in told.items() if text == "Active"))
    return values


def _dmon(head: str, lines: Iterator[str], usage: Usage) -> Iterator[Row]:
    names = _words(head.lstrip("# "))
    if not {"time", "date"} & set(names):
        usage.notes.append("dmon printed no time (-o DT would): a second from row to row is assumed")
    seen: dict[int, int] = {}
    for line in lines:
        cells = _words(line)
        if line.startswith("#") or len(cells) != len(names):
            continue
        row = dict(zip(names, cells, strict=True))
        if not row.get("gpu", "").isdecimal():
            continue
        gpu = int(row["gpu"])
        seen[gpu] = seen.get(gpu, 0) + 1
        t_s = _time(" ".join(row[name] for name in ("date", "time") if name in row))
        values = {
            _DMON[name]: number for name, text in row.items() if name in _DMON and (number := _number(text)) is not None
        }
        yield gpu, float(seen[gpu]) if t_s is None else t_s, values


def _words(line: str) -> list[str]:
    parts = line.split(",") if "," in line else line.split()
    return [part.strip().lower() for part in parts]


def _number(text: str) -> float | None:
    """The number of a cell with or without unit; None for N/A, [N/A], [Not Supported], - and the like."""
    match = _NUMBER.match(text.strip())
    return float(match[0]) if match else None


def _time(text: str) -> float | None:
    for form in _FORMATS:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            continue
    return None


def load_any(path: Path) -> Usage:
    """Figures of a run folder, of the doctor's GPU file, or of nvidia-smi's output.

    Raises:
        NotUsage: it is none of them.
        OSError: it cannot be read.

    """
    from doctor.monitors.usage_files import load

    if path.is_dir():
        return load(path)
    with path.open("rb") as file:
        own = file.read(9) == b"# schema " or b"t_ns,mono_s" in file.readline()
    return load(path) if own else read(path)

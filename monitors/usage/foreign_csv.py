"""Reads what people have already: `nvidia-smi --query-gpu=... --format=csv -lms` and `nvidia-smi dmon`.

Both call `utilization.gpu` by other names; the `sm` column of dmon is the same figure and no SM activity.
https://docs.nvidia.com/deploy/nvidia-smi/index.html
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path

from doctor.monitors.usage.blocks import NotUsage
from doctor.monitors.usage.tracks import GpuKey, Track, Usage

#: nvidia-smi's property, without unit -> column
_QUERY = {
    "utilization.gpu": "gpu_busy_pct", "utilization.memory": "memory_busy_pct", "memory.used": "memory_used_mib",
    "power.draw": "power_w", "power.draw.instant": "power_w", "power.draw.average": "power_w",
    "enforced.power.limit": "power_limit_w", "power.limit": "power_limit_w",
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
_LARGEST = 1e15  # no figure of a card is
_MOST_CARDS, _LONGEST_LINE = 4_096, 1 << 16
#: columns that say whose a row is, the surest first
_IDENTITIES = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id")
#: the gap from round to round, as a share of all gaps in order (of 16 GPUs one gap in 16 is such a one); what is
#: together takes less than this part of it; and the share of rounds that must have the same number of rows
_TYPICAL, _TOGETHER, _REGULAR = 0.97, 0.3, 0.9
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?![\w.]*\d)")  # no piece of a damaged one
_FORMATS = ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y%m%d %H:%M:%S", "%H:%M:%S")


def read(path: Path) -> Usage:
    """Figures of such a file.

    Raises:
        NotUsage: it is none of them, or lacks what a report needs.
        OSError: it cannot be read.

    """
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = (line.rstrip("\r\n") for line in iter(lambda: file.readline(_LONGEST_LINE), ""))
        first = next((line for line in lines if line.strip()), "")
        usage = Usage(path.name)
        if not first:
            raise NotUsage(f"{path} is empty")
        if re.match(r"#\s*(gpu|date|time)\b", first, re.IGNORECASE):
            rows = _dmon(first, lines, usage)
        elif "," in first and re.search(r"\b(timestamp|utilization\.gpu|memory\.used|power\.draw)", first):
            rows = _query(first, lines, path, usage)
        else:
            said = first[:60]
            raise NotUsage(
                f"{path} is not a CSV file of the doctor or of nvidia-smi (it begins with `{said}`); "
                "for a log: doctor postmortem"
            )
        _fill(usage, rows)
    if not any(usage.gpus.values()):
        raise NotUsage(f"{path} has a header and no row that could be read")
    usage.notes.append(f"{path.name}: from nvidia-smi; its times are the machine's local ones, taken as they are")
    return usage


Row = tuple[int, float, dict[str, float]]


def _fill(usage: Usage, rows: Iterator[Row]) -> None:
    found: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for gpu, t_s, values in rows:
        figures = found.setdefault(gpu, {})
        for name, value in values.items():
            figures.setdefault(name, []).append((t_s, value))
    for gpu, figures in sorted(found.items()):
        key = GpuKey("", gpu)
        usage.gpus[key] = {name: Track.of(sorted(pairs)) for name, pairs in figures.items()}
        usage.sources[key] = "dmon --gpm-metrics" if "sm_active_pct" in figures else ""


def _query(head: str, lines: Iterator[str], path: Path, usage: Usage) -> Iterator[Row]:
    names = [re.sub(r"\s*\[.*\]", "", cell.strip()) for cell in head.split(",")]
    if "timestamp" not in names:
        raise NotUsage(f"{path} has no `timestamp`: add it to --query-gpu, because without it no row has a time")
    rows = _timed(names, lines)
    identity = next((name for name in _IDENTITIES if name in names), None)
    if identity is None:
        yield from _by_place(list(rows), path, usage)
        return
    order: dict[str, int] = {}
    for t_s, row in rows:
        who = row[identity]
        gpu = int(who) if who.isdecimal() and len(who) < 5 else order.setdefault(who, len(order))
        if gpu < _MOST_CARDS:
            yield gpu, t_s, _query_values(row)


def _timed(names: list[str], lines: Iterator[str]) -> Iterator[tuple[float, dict[str, str]]]:
    """Time and cells of the rows that are whole; torn lines and repeated headers are left out."""
    for line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        row = dict(zip(names, cells, strict=False))
        t_s = _time(row.get("timestamp", ""))
        if len(cells) == len(names) and t_s is not None:
            yield t_s, row


def _by_place(rows: list[tuple[float, dict[str, str]]], path: Path, usage: Usage) -> Iterator[Row]:
    """Rows that no column assigns to a GPU: nvidia-smi prints those of one round together, in the order of its indices.

    Raises:
        NotUsage: there are several GPUs, and which row is whose cannot be told.

    """
    rounds = _rounds([t_s for t_s, _ in rows])
    sizes = Counter(len(each) for each in rounds)
    gpus, often = sizes.most_common(1)[0] if sizes else (1, 0)
    whole_seconds = all("." not in row["timestamp"] for _, row in rows)
    if gpus > 1 and (often < _REGULAR * len(rounds) or whole_seconds):
        raise NotUsage(
            f"{path} has rows of the same time and no column that identifies the GPU: add `index` to --query-gpu "
            "(nvidia-smi --query-gpu=timestamp,index,...)"
        )
    if gpus == 1:
        yield from ((0, t_s, _query_values(row)) for t_s, row in rows)
        return
    usage.notes.append(
        f"{path.name}: no column `index`: {gpus} rows come together each time, and are taken for GPU 0 to "
        f"{gpus - 1} in nvidia-smi's order (--query-gpu=timestamp,index,... would say so)"
    )
    for each in rounds:
        if len(each) == gpus:
            yield from ((gpu, rows[place][0], _query_values(rows[place][1])) for gpu, place in enumerate(each))


def _rounds(times: list[float]) -> list[list[int]]:
    """Places of the rows of each round: those between which next to no time passes, beside that from round to round."""
    gaps = [later - earlier for earlier, later in pairwise(times)]
    apart = sorted(gap for gap in gaps if gap > 0)
    period = apart[int(len(apart) * _TYPICAL)] if apart else 0.0
    found: list[list[int]] = [[0]] if times else []
    for place, gap in enumerate(gaps, 1):
        if 0 <= gap <= period * _TOGETHER:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def _query_values(row: dict[str, str]) -> dict[str, float]:
    """Our columns of a row; of several power limits the lowest, which applies."""
    values: dict[str, float] = {}
    for name, text in row.items():
        column = _QUERY.get(name)
        if column is not None and (number := _number(text)) is not None:
            values[column] = number if column != "power_limit_w" else min(number, values.get(column, number))
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
        if not row.get("gpu", "").isdecimal() or len(row["gpu"]) > 4:
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
    number = float(match[0]) if match else None
    return number if number is not None and abs(number) < _LARGEST else None


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
    from doctor.monitors.usage.files import load

    if path.is_dir():
        return load(path)
    with path.open("rb") as file:
        own = file.read(9) == b"# schema " or b"t_ns,mono_s" in file.readline(_LONGEST_LINE)
    return load(path) if own else read(path)

"""Reads the CSV files of a sampled run."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from doctor.monitors.sampler import columns
from doctor.monitors.usage.clocks import align
from doctor.monitors.usage.tracks import GpuKey, Track, Usage
from doctor.readers.machine.gpu_queries import REASONS
from doctor.run.folder import TORN, RunDir, host_name, read_rows

#: figures that the report uses, no others are read; `throttle` are the bits of throttle_reasons
FIGURES = (
    "sm_active_pct", "tensor_active_pct", "dram_active_pct", "sm_window_s", "gpu_busy_pct", "memory_used_mib",
    "power_w", "power_limit_w", "temperature_c", "sm_clock_mhz", "pcie_width", "pcie_width_max", "ecc_uncorrected",
)  # fmt: skip
HOST_FIGURES = tuple(each for each in columns.HOST if each not in {"time", "t_ns", "mono_s", "host", "gpu_sampling"})

#: roles of vLLM's processes
SERVER_ROLES = frozenset({"vllm_server", "vllm_engine", "vllm_worker"})

_BLOCK = 16 << 20
_TORN_LINE = re.compile(rb"[^\n]*" + re.escape(TORN) + rb"\n")
_FLOAT = re.compile(rb"[-+]?\d{1,30}(?:\.\d{0,30})?(?:[eE][-+]?\d{1,2})?|nan")
_LONGEST_HEADER = 1 << 16
_BITS = {name: bit for bit, name in REASONS}


class NotUsage(Exception):  # noqa: N818 - the user's file is at fault, the message says how
    """A file or folder holds no figures; the message names it."""


def load(path: Path) -> Usage:
    """Figures of a run folder or of one of the doctor's GPU files.

    Raises:
        NotUsage: there are none.
        OSError: it cannot be read.

    """
    usage = Usage(path.name)
    if path.is_file():
        read_gpu_files([path], usage)
        if not any(usage.gpus.values()):
            raise NotUsage(f"{path} has a header and no row that could be read")
        return usage
    run = RunDir(path)
    usage.events, usage.run = run.read_events(), run.read_run()
    files = sorted((path / "gpu").glob("*.csv"))
    read_gpu_files([file for file in files if not file.stem.endswith("-processes")], usage)
    for file in files:
        if file.stem.endswith("-processes"):
            _read_roles(file, usage)
    for file in sorted((path / "host").glob("*.csv")):
        if not file.stem.endswith("-processes"):
            _read_host_file(file, usage)
    if not any(len(each.t) for told in (*usage.gpus.values(), *usage.hosts.values()) for each in told.values()):
        raise NotUsage(f"{path} holds no figures of a monitored run (no gpu/*.csv, no host/*.csv)")
    align(usage)
    return usage


def read_gpu_files(paths: Iterable[Path], usage: Usage) -> None:
    """Add the figures of the doctor's GPU files.

    Raises:
        NotUsage: one is none.

    """
    import numpy as np

    parts: dict[GpuKey, dict[str, list[tuple[Any, Any]]]] = {}
    for frame in _frames(paths, usage.notes):
        told = {name: frame[name].to_numpy() for name in FIGURES}
        told["throttle"] = _bits(frame["throttle_reasons"])
        seconds = (frame["t_ns"] / 1e9).to_numpy()
        hosts, sources = frame["host"].cat, frame["sm_source"].cat
        codes = sources.codes.to_numpy()
        for (host, gpu, mig), rows in _rows_of_each(hosts.codes, frame["gpu"], frame["mig"]):
            key = GpuKey(str(hosts.categories[host]) if host >= 0 else "", gpu, None if mig < 0 else mig)
            _collect(told, rows, seconds, parts.setdefault(key, {}))
            named = codes[rows][codes[rows] >= 0]
            usage.sources[key] = str(sources.categories[named[-1]]) if len(named) else usage.sources.get(key, "")
    for key, figures in parts.items():
        tracks = usage.gpus.setdefault(key, {})
        joined: dict[tuple[int, ...], Any] = {}
        for name, pieces in figures.items():
            same = tuple(id(piece[0]) for piece in pieces)
            if same not in joined:
                joined[same] = np.concatenate([piece[0] for piece in pieces])
            t, v = joined[same], np.concatenate([piece[1] for piece in pieces])
            order = None if bool((t[1:] >= t[:-1]).all()) else np.argsort(t, kind="stable")
            tracks[name] = Track(t, v) if order is None else Track(t[order], v[order])


def _rows_of_each(*columns: Any) -> Iterator[tuple[list[int], Any]]:
    """(codes, rows in order) of each card: pandas' own grouping by arrays turns them into text first."""
    import numpy as np

    table = np.stack([each.fillna(-1).to_numpy().astype("int64") for each in columns])
    order = np.lexsort(table[::-1])
    ordered = table[:, order]
    begins = np.flatnonzero(np.append(True, (np.diff(ordered) != 0).any(axis=0)))
    for begin, rows in zip(begins.tolist(), np.split(order, begins[1:]), strict=True):
        yield ordered[:, begin].tolist(), rows


def _collect(columns: dict[str, Any], rows: Any, seconds: Any, figures: dict[str, list[tuple[Any, Any]]]) -> None:
    import numpy as np

    times = seconds[rows]
    of_mask: dict[bytes, Any] = {}  # figures told in the same rows share their times: half of the memory
    for name, column in columns.items():
        values = column[rows]
        told = ~np.isnan(values)
        if told.all():
            figures.setdefault(name, []).append((times, values))
        elif told.any():
            shared = of_mask.setdefault(told.tobytes(), None)
            if shared is None:
                shared = of_mask[told.tobytes()] = times[told]
            figures.setdefault(name, []).append((shared, values[told]))


def _bits(reasons: Any) -> Any:
    """Names of throttle reasons as bits; NaN where nothing was told."""
    import numpy as np

    values = [float(sum(_BITS.get(name, 0) for name in str(each).split("|"))) for each in reasons.cat.categories]
    return np.append(np.array(values, dtype="float32"), np.float32("nan"))[reasons.cat.codes.to_numpy()]


def _frames(paths: Iterable[Path], notes: list[str]) -> Iterator[Any]:
    """The files as data frames of some ten thousand rows; `notes` takes down what could not be read."""
    import pandas as pd

    lost = 0

    for names, rows in _blocks(paths):
        texts = dict.fromkeys(("host", "sm_source", "throttle_reasons"), "category")
        numbers = dict.fromkeys((each for each in (*FIGURES, "mig") if each in names), "float32")
        wanted = [name for name in names if name in {"t_ns", "gpu", *texts, *numbers}]
        missing = {"t_ns", "gpu", "mig", "host", *FIGURES, *texts} - set(names)
        read = partial(
            pd.read_csv, header=None, names=names, usecols=wanted, engine="c", keep_default_na=False, na_values=[""],
            dtype={**numbers, **texts, "t_ns": "int64", "gpu": "int32"}, comment=None, on_bad_lines="skip",
            quoting=csv.QUOTE_NONE, encoding_errors="replace",
        )  # fmt: skip
        frame = None
        if _is_regular(rows, len(names)):
            with suppress(ValueError, OverflowError):  # pandas' own errors are among them
                frame = read(io.BytesIO(rows))
        if frame is None:
            kept = _readable(rows, names, {"t_ns", "gpu"}, numbers)
            lost += rows.count(b"\n") - len(kept)
            if not kept:
                continue
            frame = read(io.BytesIO(b"\n".join(kept) + b"\n"))
        for name in missing:
            frame[name] = pd.Series(float("nan"), index=frame.index, dtype="category" if name in texts else "float32")
        yield frame
    if lost:
        notes.append(f"{lost:,} line{'' if lost == 1 else 's'} could not be read as rows and were left out")


def _is_regular(rows: bytes, columns: int) -> bool:
    """Whether all lines together have the commas of whole rows, and nothing that no row of ours has."""
    return rows.count(b",") == (columns - 1) * rows.count(b"\n") and b"\0" not in rows


def _readable(rows: bytes, names: list[str], whole: set[str], numbers: Iterable[str]) -> list[bytes]:
    """The lines that are rows: as many cells as columns, and numbers where numbers belong."""
    checks = [(at, name in whole) for at, name in enumerate(names) if name in whole or name in set(numbers)]
    kept = []
    for raw in rows.split(b"\n"):
        line = raw.rstrip(b"\r")
        cells = line.split(b",")
        if len(cells) != len(names) or b"\0" in line or b"\r" in line:
            continue
        if all(_is_number(cells[at], whole=strict) for at, strict in checks):
            kept.append(line)
    return kept


def _is_number(cell: bytes, *, whole: bool) -> bool:
    """Whether a cell is one; a time or an index is whole, fits into its column, and is never empty."""
    if whole:
        return cell.isdigit() and len(cell) < 20 and int(cell) < 1 << (31 if len(cell) < 11 else 63)
    return not cell or _FLOAT.fullmatch(cell) is not None


def _blocks(paths: Iterable[Path]) -> Iterator[tuple[list[str], bytes]]:
    """(columns, whole lines): a large file in parts, small ones together, for each part costs as much as many rows."""
    names: list[str] = []
    held: list[bytes] = []
    for path in paths:
        with path.open("rb") as file:
            own = _header(file, path)
            while block := file.read(_BLOCK):
                rows = _whole(b"".join((block, file.readline(_BLOCK))))
                if held and (own != names or sum(map(len, held)) + len(rows) > _BLOCK):
                    yield names, b"".join(held)
                    held = []
                if rows:
                    names = own
                    held.append(rows)
    if held:
        yield names, b"".join(held)


def _whole(lines: bytes) -> bytes:
    """Without torn lines, and without the one that is being written; nothing where there is no row."""
    if b"#" in lines and TORN in lines:  # one byte is looked for ten times faster than five
        lines = _TORN_LINE.sub(b"", lines)
    if not lines.endswith(b"\n"):
        lines = lines[: lines.rfind(b"\n") + 1]
    return b"" if lines.isspace() else lines


def _header(file: Any, path: Path) -> list[str]:
    while line := file.readline(_LONGEST_HEADER):
        if not line.startswith(b"#"):
            names: list[str] = line.decode("utf-8", "replace").strip().split(",")
            if {"t_ns", "gpu"} <= set(names):
                return names
            break
    raise NotUsage(f"{path} is no GPU file of the doctor's")


def _read_host_file(path: Path, usage: Usage) -> None:
    import numpy as np

    found: dict[str, list[tuple[float, float]]] = {}
    host = path.stem
    for row in read_rows(path):
        host = row.get("host") or host
        for name in HOST_FIGURES:
            if (told := _sample(row.get("t_ns", ""), row.get(name, ""))) is not None:
                found.setdefault(name, []).append(told)
    if found:
        tracks = ((name, np.array(pairs).T) for name, pairs in found.items())
        usage.hosts[host or host_name()] = {name: Track(t, v) for name, (t, v) in tracks}


def _sample(t_ns: str, value: str) -> tuple[float, float] | None:
    """Time (s) and value of a cell; None where it is empty or damaged."""
    if not value or not _is_number(t_ns.encode(), whole=True):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return (int(t_ns) / 1e9, number) if math.isfinite(number) else None


_WHOLE_CELLS = ("gpu", "pid")
_MAY_BE_EMPTY = ("mig", "rank")


def _rows_of_processes(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a table of processes that name a role, and have numbers where numbers belong."""
    for row in read_rows(path):
        cells = [row.get(name, "") for name in _WHOLE_CELLS] + [row[each] for each in _MAY_BE_EMPTY if row.get(each)]
        if row.get("role") and "host" in row and all(_is_number(each.encode(), whole=True) for each in cells):
            yield row


def _read_roles(path: Path, usage: Usage) -> None:
    import numpy as np

    engines: dict[tuple[GpuKey, int], list[tuple[float, float]]] = {}
    of_pid: dict[tuple[GpuKey, str], dict[str, int | None]] = {}
    own = {
        (each.get("host"), each.get("pid")): ("trainer", each.get("rank"))
        for each in usage.events if each.get("role") == "trainer"
    }  # fmt: skip
    for row in _rows_of_processes(path):
        key = GpuKey(row["host"], int(row["gpu"]), int(row["mig"]) if row.get("mig") else None)
        who = (row["role"], int(row["rank"]) if row.get("rank") else None)
        if row["role"] == "other":  # the guard inside of it knows better
            who = own.get((row["host"], int(row["pid"])), who)
        told = of_pid.setdefault((key, row["pid"]), {})
        if who[1] is not None or who[0] not in told:  # before it was known by its rank it was the same process
            told[who[0]] = who[1]
        sample = _sample(row.get("t_ns", ""), row.get("memory_used_mib", ""))
        if row["role"] in SERVER_ROLES and sample is not None:
            engines.setdefault((key, int(row["pid"])), []).append(sample)
    for (key, _), roles in of_pid.items():
        usage.gpu_roles.setdefault(key, set()).update(roles.items())
    usage.engines.update((who, Track(*np.array(samples).T)) for who, samples in engines.items())

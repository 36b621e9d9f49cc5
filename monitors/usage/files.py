"""Reads the CSV files of a sampled run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from doctor.monitors.sampler import columns
from doctor.monitors.usage import frames, plainly
from doctor.monitors.usage.blocks import NotUsage, is_number
from doctor.monitors.usage.clocks import align
from doctor.monitors.usage.tracks import GpuKey, Track, Usage
from doctor.run.aside import noted
from doctor.run.folder import RunDir, host_name, read_rows

HOST_FIGURES = tuple(each for each in columns.HOST if each not in {"time", "t_ns", "mono_s", "host", "gpu_sampling"})

#: from this size on, importing pandas costs less than reading without it
MANY_BYTES = 4 << 20

#: roles of vLLM's processes
SERVER_ROLES = frozenset(
    {"vllm_server", "vllm_engine", "vllm_worker", "sglang_server", "sglang_engine", "sglang_worker"}
)


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
    usage.events, usage.run = run.read_events(), noted(run)
    files = sorted((path / "gpu").glob("*.csv"))
    read_gpu_files([file for file in files if not file.stem.endswith("-processes")], usage)
    for file in files:
        if file.stem.endswith("-processes"):
            _read_roles(file, usage)
    for file in sorted((path / "host").glob("*.csv")):
        if not file.stem.endswith("-processes"):
            _read_host_file(file, usage)
    if not any(len(each.t) for told in (*usage.gpus.values(), *usage.hosts.values()) for each in told.values()):
        raise NotUsage(f"{path} has no figures of a monitored run (no gpu/*.csv, no host/*.csv)")
    align(usage)
    return usage


def read_gpu_files(paths: Iterable[Path], usage: Usage) -> None:
    """Add the figures of the doctor's GPU files: by pandas where it is installed and they are large.

    Raises:
        NotUsage: one is none.

    """
    files = list(paths)
    size = sum(each.stat().st_size for each in files)
    reader = frames if size >= MANY_BYTES and find_spec("pandas") is not None else plainly
    found, sources = reader.read(files, usage.notes)
    for key, figures in found.items():
        usage.gpus.setdefault(key, {}).update(figures)
        usage.sources[key] = sources.get(key) or usage.sources.get(key, "")


def _read_host_file(path: Path, usage: Usage) -> None:
    found: dict[str, list[tuple[float, float]]] = {}
    host = path.stem
    for row in read_rows(path):
        host = row.get("host") or host
        for name in HOST_FIGURES:
            if (told := _sample(row.get("t_ns", ""), row.get(name, ""))) is not None:
                found.setdefault(name, []).append(told)
    if found:
        usage.hosts[host or host_name()] = {name: Track.of(pairs) for name, pairs in found.items()}


def _sample(t_ns: str, value: str) -> tuple[float, float] | None:
    """Time (s) and value of a cell; None where it is empty or damaged."""
    if not value or not is_number(t_ns.encode(), whole=True):
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
        if row.get("role") and "host" in row and all(is_number(each.encode(), whole=True) for each in cells):
            yield row


def _read_roles(path: Path, usage: Usage) -> None:
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
    usage.engines.update((who, Track.of(samples)) for who, samples in engines.items())

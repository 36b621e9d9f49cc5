"""What the machines of a run did beside their GPUs: CPU, memory, disks, network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from doctor.monitors.usage.numbers import mean, weights
from doctor.monitors.usage.tracks import Track, Usage

#: machines that are told one by one; a cluster's are told by their GPUs
MOST_MACHINES = 64


@dataclass
class Machine:
    """One machine over the whole run; None is "not told". MiB are 2^20 bytes, of all disks and interfaces together."""

    host: str
    cpus: int | None
    cpu_pct: float | None
    cpu_max_pct: float | None
    memory_peak_mib: float | None
    memory_total_mib: float | None
    swap_peak_mib: float | None
    shm_peak_mib: float | None
    shm_total_mib: float | None
    disk_read_mib: float | None
    disk_write_mib: float | None
    net_rx_mib: float | None
    net_tx_mib: float | None
    run_disk_free_mib: float | None


def machines(usage: Usage) -> list[Machine]:
    """A row for each machine whose host was sampled, by name."""
    return [_one(host, figures) for host, figures in sorted(usage.hosts.items())[:MOST_MACHINES]]


def _one(host: str, figures: Mapping[str, Track]) -> Machine:
    cpus = _highest(figures.get("cpus"))
    return Machine(
        host, None if cpus is None else int(cpus), mean(figures.get("cpu_pct")), _highest(figures.get("cpu_pct")),
        _highest(figures.get("memory_used_mib")), _highest(figures.get("memory_total_mib")),
        _highest(figures.get("swap_used_mib")), _highest(figures.get("shm_used_mib")),
        _highest(figures.get("shm_total_mib")), _summed(figures.get("disk_read_mib_s")),
        _summed(figures.get("disk_write_mib_s")), _summed(figures.get("net_rx_mib_s")),
        _summed(figures.get("net_tx_mib_s")), _lowest(figures.get("run_disk_free_mib")),
    )  # fmt: skip


def _highest(track: Track | None) -> float | None:
    return None if track is None or not len(track.v) else float(max(track.v))


def _lowest(track: Track | None) -> float | None:
    return None if track is None or not len(track.v) else float(min(track.v))


def _summed(track: Track | None) -> float | None:
    """MiB in all, of a rate."""
    if track is None or not len(track.v):
        return None
    return sum(rate * seconds for rate, seconds in zip(track.v, weights(track, None), strict=True))

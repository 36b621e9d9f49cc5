"""CPU, memory, disks and network of the machine and of the run's processes, from /proc.

https://man7.org/linux/man-pages/man5/proc.5.html
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_MIB = 1 << 20
_SECTOR = 512
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")

#: whole disks; their partitions would be counted twice, and so would what lies on md, dm and loop
_DISK = re.compile(r"(?:sd[a-z]+|nvme\d+n\d+|vd[a-z]+|xvd[a-z]+|hd[a-z]+|mmcblk\d+)")


class Rates:
    """Counters that only grow, as rates since the last call."""

    def __init__(self) -> None:
        self._before: dict[Any, tuple[float, float]] = {}

    def rate(self, key: Any, counter: float, mono_s: float) -> float | None:
        """Change a second; None at the first call and where the counter was set back."""
        before = self._before.get(key)
        self._before[key] = (counter, mono_s)
        if before is None or counter < before[0] or mono_s <= before[1]:
            return None
        return (counter - before[0]) / (mono_s - before[1])

    def forget_all_but(self, keys: Iterable[Any]) -> None:
        """Drop what is not asked for any more."""
        kept = set(keys)
        self._before = {key: value for key, value in self._before.items() if key in kept}


class HostReader:
    """Readings of the machine.

    Args:
        folder: whose file system's free room is told.
        root: where proc and dev lie; / but in tests.

    """

    def __init__(self, folder: Path, root: Path = Path("/")) -> None:
        self._folder, self._root = folder, root
        self._rates = Rates()

    def read(self, mono_s: float) -> dict[str, Any]:
        """One row."""
        row: dict[str, Any] = {**self._cpu(), **self._memory(), **self._disks(mono_s), **self._network(mono_s)}
        row |= _room(self._root / "dev/shm", "shm_used_mib", "shm_total_mib")
        free = _room(self._folder, "used", "total")
        if free:
            row["run_disk_free_mib"] = free["total"] - free["used"]
        load = self._text("loadavg").split()
        row["load1"] = float(load[0]) if load else None
        return row

    def _text(self, name: str) -> str:
        try:
            return (self._root / "proc" / name).read_text("ascii", "replace")
        except OSError:
            return ""

    def _cpu(self) -> dict[str, Any]:
        lines = [line.split() for line in self._text("stat").splitlines() if line.startswith("cpu")]
        if not lines:
            return {}
        times = [int(each) for each in lines[0][1:9]]  # guest time is in user time already
        idle = times[3] + times[4]
        # the clock of these counters is their own sum
        busy = self._rates.rate("cpu", sum(times) - idle, sum(times))
        return {"cpus": len(lines) - 1, "cpu_pct": None if busy is None else round(100 * busy, 2)}

    def _memory(self) -> dict[str, Any]:
        found = {}
        for line in self._text("meminfo").splitlines():
            name, _, rest = line.partition(":")
            words = rest.split()
            if words and words[0].isdecimal():
                found[name] = int(words[0]) // 1024
        row: dict[str, Any] = {}
        if {"MemTotal", "MemAvailable"} <= set(found):
            row = {"memory_total_mib": found["MemTotal"], "memory_used_mib": found["MemTotal"] - found["MemAvailable"]}
        if {"SwapTotal", "SwapFree"} <= set(found):
            row["swap_used_mib"] = found["SwapTotal"] - found["SwapFree"]
        return row

    def _disks(self, mono_s: float) -> dict[str, Any]:
        read = written = 0
        for line in self._text("diskstats").splitlines():
            words = line.split()
            if len(words) > 9 and _DISK.fullmatch(words[2]):
                read, written = read + int(words[5]), written + int(words[9])
        return {
            "disk_read_mib_s": _mib(self._rates.rate("read", read * _SECTOR, mono_s)),
            "disk_write_mib_s": _mib(self._rates.rate("write", written * _SECTOR, mono_s)),
        }

    def _network(self, mono_s: float) -> dict[str, Any]:
        received = sent = 0
        for line in self._text("net/dev").splitlines()[2:]:
            name, _, rest = line.partition(":")
            words = rest.split()
            if name.strip() != "lo" and len(words) > 8:
                received, sent = received + int(words[0]), sent + int(words[8])
        return {
            "net_rx_mib_s": _mib(self._rates.rate("rx", received, mono_s)),
            "net_tx_mib_s": _mib(self._rates.rate("tx", sent, mono_s)),
        }


def _room(folder: Path, used: str, total: str) -> dict[str, int]:
    try:
        stat = os.statvfs(folder)
    except OSError:
        return {}
    size = stat.f_blocks * stat.f_frsize
    return {used: (size - stat.f_bavail * stat.f_frsize) // _MIB, total: size // _MIB}


def _mib(rate: float | None) -> float | None:
    return None if rate is None else round(rate / _MIB, 3)


class ProcessReader:
    """Readings of processes."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._rates = Rates()

    def read(self, pid: int, mono_s: float) -> dict[str, Any] | None:
        """CPU, memory and storage of a process; None when it is gone."""
        folder = self._proc / str(pid)
        try:
            words = (folder / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            cpu_s = (int(words[11]) + int(words[12])) / _TICKS
            row: dict[str, Any] = {"pid": pid, "threads": int(words[17]), "memory_mib": int(words[21]) * _PAGE // _MIB}
        except (OSError, IndexError, ValueError):
            return None
        used = self._rates.rate((pid, "cpu"), cpu_s, mono_s)
        row["cpu_pct"] = None if used is None else round(100 * used, 2)
        storage = self._storage(folder)
        for name, column in (("read_bytes", "read_mib_s"), ("write_bytes", "write_mib_s")):
            value = storage.get(name)
            row[column] = None if value is None else _mib(self._rates.rate((pid, name), value, mono_s))
        return row

    def _storage(self, folder: Path) -> dict[str, int]:
        try:
            lines = (folder / "io").read_text("ascii").splitlines()
        except OSError:  # another user's
            return {}
        pairs = (line.split(": ") for line in lines)
        return {name: int(value) for name, value in pairs if value.isdecimal()}

    def forget_all_but(self, pids: Iterable[int]) -> None:
        """Drop processes that are gone."""
        kept = [(pid, what) for pid in pids for what in ("cpu", "read_bytes", "write_bytes")]
        self._rates.forget_all_but(kept)

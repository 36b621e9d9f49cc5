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
_BLOCK = 1 << 14
_MOMENT_S = 0.25  # a last row comes when the run ends, however soon that is after the one before it

#: whole disks; their partitions would be counted twice, and so would what lies on md, dm and loop
_DISK = re.compile(rb"(?:sd[a-z]+|nvme\d+n\d+|vd[a-z]+|xvd[a-z]+|hd[a-z]+|mmcblk\d+)")


class Rates:
    """Counters that only grow, as rates since the last call, or since the one before it when that was a moment ago.

    The kernel counts processor time in ticks of 10 ms: over a moment a rate is none, or all there is.
    """

    def __init__(self) -> None:
        self._before: dict[Any, tuple[float, float]] = {}
        self._earlier: dict[Any, tuple[float, float]] = {}

    def rate(self, key: Any, counter: float, at_s: float) -> float | None:
        """Change a second; None at the first call and where the counter was set back."""
        before = self._before.get(key)
        if before is not None and at_s - before[1] < _MOMENT_S:
            before = self._earlier.get(key)
        else:
            if before is not None:
                self._earlier[key] = before
            self._before[key] = (counter, at_s)
        if before is None or counter < before[0] or at_s <= before[1]:
            return None
        return (counter - before[0]) / (at_s - before[1])

    def forget_all_but(self, keys: Iterable[Any]) -> None:
        """Drop what is not asked for any more."""
        kept = set(keys)
        for each in (self._before, self._earlier):
            for key in each.keys() - kept:
                del each[key]


class Kept:
    """A file of /proc that stays open and is read from its beginning each time: half the cost of opening it anew."""

    __slots__ = ("_file", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def read(self) -> bytes:
        """All of it; nothing when it is missing, gone or another's."""
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            data = os.pread(self._file, _BLOCK, 0)
            while len(data) % _BLOCK == 0 and (more := os.pread(self._file, _BLOCK, len(data))):
                data += more
        except OSError:
            self.close()
            return b""
        return data

    def close(self) -> None:
        """Let it go."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class HostReader:
    """Readings of the machine.

    Args:
        folder: whose file system's free room is told.
        root: where proc and dev lie; / but in tests.

    """

    def __init__(self, folder: Path, root: Path = Path("/")) -> None:
        self._folder, self._shm = folder, root / "dev/shm"
        names = ("stat", "meminfo", "diskstats", "net/dev", "loadavg")
        self._stat, self._meminfo, self._diskstats, self._net, self._load = (
            Kept(root / "proc" / each) for each in names
        )
        self._rates = Rates()
        self._is_disk: dict[bytes, bool] = {}

    def read(self, mono_s: float) -> dict[str, Any]:
        """One row."""
        row: dict[str, Any] = {**self._cpu(), **self._memory(), **self._disks(mono_s), **self._network(mono_s)}
        row |= _room(self._shm, "shm_used_mib", "shm_total_mib")
        free = _room(self._folder, "used", "total")
        if free:
            row["run_disk_free_mib"] = free["total"] - free["used"]
        load = self._load.read().split(None, 1)
        row["load1"] = float(load[0]) if load else None
        return row

    def _cpu(self) -> dict[str, Any]:
        text = self._stat.read()
        if not text.startswith(b"cpu "):
            return {}
        times = [int(each) for each in text[: text.index(b"\n")].split()[1:9]]  # guest time is in user time already
        idle = times[3] + times[4]
        cpus = text.count(b"\ncpu")
        # the clock of these counters is their own sum
        busy_s, all_s = (ticks / _TICKS / max(1, cpus) for ticks in (sum(times) - idle, sum(times)))
        busy = self._rates.rate("cpu", busy_s, all_s)
        # the kernel may count waiting for storage backwards (proc(5)): then more is busy than there is
        return {"cpus": cpus, "cpu_pct": None if busy is None else min(100.0, round(100 * busy, 2))}

    def _memory(self) -> dict[str, Any]:
        text = self._meminfo.read()
        total, available = _mib_of(text, b"MemTotal:"), _mib_of(text, b"MemAvailable:")
        swap, swap_free = _mib_of(text, b"SwapTotal:"), _mib_of(text, b"SwapFree:")
        row: dict[str, Any] = {}
        if total is not None and available is not None:
            row = {"memory_total_mib": total, "memory_used_mib": total - available}
        if swap is not None and swap_free is not None:
            row["swap_used_mib"] = swap - swap_free
        return row

    def _disks(self, mono_s: float) -> dict[str, Any]:
        read = written = 0
        for line in self._diskstats.read().splitlines():
            words = line.split(None, 10)
            if len(words) > 9 and self._counts(words[2]):
                read, written = read + int(words[5]), written + int(words[9])
        return {
            "disk_read_mib_s": _mib(self._rates.rate("read", read * _SECTOR, mono_s)),
            "disk_write_mib_s": _mib(self._rates.rate("write", written * _SECTOR, mono_s)),
        }

    def _counts(self, name: bytes) -> bool:
        if name not in self._is_disk:
            self._is_disk[name] = _DISK.fullmatch(name) is not None
        return self._is_disk[name]

    def _network(self, mono_s: float) -> dict[str, Any]:
        received = sent = 0
        for line in self._net.read().splitlines()[2:]:
            name, _, rest = line.partition(b":")
            words = rest.split(None, 9)
            if len(words) > 8 and name.strip() != b"lo":
                received, sent = received + int(words[0]), sent + int(words[8])
        return {
            "net_rx_mib_s": _mib(self._rates.rate("rx", received, mono_s)),
            "net_tx_mib_s": _mib(self._rates.rate("tx", sent, mono_s)),
        }


def _mib_of(meminfo: bytes, name: bytes) -> int | None:
    """MiB of one line of /proc/meminfo, which tells kiB."""
    begin = meminfo.find(name)
    words = meminfo[begin + len(name) : begin + len(name) + 32].split(None, 1) if begin >= 0 else ()
    return int(words[0]) // 1024 if words and words[0].isdigit() else None


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
    """Readings of processes. A file that is kept open belongs to one process for ever, whoever gets its id later."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._rates = Rates()
        self._files: dict[int, tuple[Kept, Kept]] = {}

    def read(self, pid: int, mono_s: float) -> dict[str, Any] | None:
        """CPU, memory and storage of a process; None when it is gone."""
        if pid not in self._files:
            folder = self._proc / str(pid)
            self._files[pid] = Kept(folder / "stat"), Kept(folder / "io")
        stat, storage = self._files[pid]
        try:
            words = stat.read().rpartition(b")")[2].split(None, 22)
            if words[0] in {b"Z", b"X"}:  # ended, and nobody has fetched it yet
                return None
            cpu_s = (int(words[11]) + int(words[12])) / _TICKS
            row: dict[str, Any] = {"pid": pid, "threads": int(words[17]), "memory_mib": int(words[21]) * _PAGE // _MIB}
        except (IndexError, ValueError):
            return None
        used = self._rates.rate((pid, "cpu"), cpu_s, mono_s)
        row["cpu_pct"] = None if used is None else round(100 * used, 2)
        text = storage.read()  # nothing of another user's
        for name, column in ((b"\nread_bytes: ", "read_mib_s"), (b"\nwrite_bytes: ", "write_mib_s")):
            begin = text.find(name)
            if begin >= 0:
                value = int(text[begin + len(name) : text.index(b"\n", begin + 1)])
                row[column] = _mib(self._rates.rate((pid, name), value, mono_s))
        return row

    def forget_all_but(self, pids: Iterable[int]) -> None:
        """Drop processes that are gone."""
        kept = set(pids)
        for pid in self._files.keys() - kept:
            for each in self._files.pop(pid):
                each.close()
        self._rates.forget_all_but(
            [(pid, what) for pid in kept for what in ("cpu", b"\nread_bytes: ", b"\nwrite_bytes: ")]
        )

"""What the kernel tells of the threads of a process: the call each is blocked in, on which file, and for how long.

`/proc/PID/task/TID/syscall` holds number and arguments of the call that a thread is blocked in (proc(5),
https://man7.org/linux/man-pages/man5/proc_pid_syscall.5.html); it may be read by who may trace the process, as py-spy
needs it too. `sched` holds when a thread last ran (`se.exec_start`, milliseconds of the scheduler's clock,
https://github.com/torvalds/linux/blob/v6.12/kernel/sched/debug.c); the same number of this process, which runs, is now.
"""

from __future__ import annotations

import os
import platform
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from doctor.base.record import record
from doctor.mend.processes.table import PROC

_MOST_THREADS = 512
_MOST_POLLED = 64
_RAN = re.compile(r"^se\.exec_start\s*:\s*([\d.]+)", re.MULTILINE)

#: https://github.com/torvalds/linux/blob/v6.12/arch/x86/entry/syscalls/syscall_64.tbl
_X86 = {
    0: "read", 19: "read", 45: "read", 47: "read", 1: "write", 44: "write", 46: "write", 7: "poll", 271: "poll",
    23: "select", 270: "select", 232: "epoll", 281: "epoll", 441: "epoll", 61: "wait", 247: "waitid", 42: "connect",
    43: "accept", 288: "accept", 202: "futex", 35: "sleep", 230: "sleep", 73: "lock", 72: "lock",
}  # fmt: skip
#: https://github.com/torvalds/linux/blob/v6.12/include/uapi/asm-generic/unistd.h
_ARM = {
    63: "read", 65: "read", 207: "read", 212: "read", 64: "write", 206: "write", 211: "write", 73: "poll",
    72: "select", 22: "epoll", 441: "epoll", 260: "wait", 95: "waitid", 203: "connect", 202: "accept", 242: "accept",
    98: "futex", 101: "sleep", 115: "sleep", 32: "lock", 25: "lock",
}  # fmt: skip
CALLS: Mapping[int, str] = {"x86_64": _X86, "aarch64": _ARM}.get(platform.machine(), {})


@record
class Thread:
    """One thread.

    Args:
        tid: its number in the kernel; the main thread's is the process's.
        name: as the kernel knows it.
        state: one letter: "R" runs, "S" sleeps, "D" waits for what nothing interrupts.
        call: what it is blocked in: "read", "write", "poll", "select", "epoll", "wait", "futex", "sleep" ...; "" where
            it runs, the call is another, or the kernel does not tell.
        files: numbers of the files that the call is about.
        target: process id that "wait" and "waitid" are about, None for any child.
        ticks: of the processor's time that it has used.
        still_s: seconds since it last ran, None where the kernel does not tell.

    """

    tid: int
    name: str
    state: str
    call: str = ""
    files: tuple[int, ...] = ()
    target: int | None = None
    ticks: int = 0
    still_s: float | None = None


def threads_of(pid: int, proc: Path = PROC) -> tuple[Thread, ...]:
    """Threads of a process, the main one first; () where it is gone."""
    try:
        names = [each.name for each in os.scandir(proc / str(pid) / "task")]
    except OSError:
        return ()
    ids = sorted(map(int, names), key=lambda tid: (tid != pid, tid))
    now = _last_ran(proc / "thread-self")
    found = (_thread(pid, tid, now, proc) for tid in ids[:_MOST_THREADS])
    return tuple(each for each in found if each is not None)


def ticks_of(pid: int, proc: Path = PROC) -> dict[int, int]:
    """Thread -> ticks of processor time it has used."""
    found = {}
    try:
        names = [each.name for each in os.scandir(proc / str(pid) / "task")]
    except OSError:
        return {}
    for name in names[:_MOST_THREADS]:
        columns = read(proc / str(pid) / "task" / name / "stat").rpartition(")")[2].split()
        if len(columns) > 12:
            found[int(name)] = int(columns[11]) + int(columns[12])
    return found


def _thread(pid: int, tid: int, now: float | None, proc: Path) -> Thread | None:
    own = proc / str(pid) / "task" / str(tid)
    columns = read(own / "stat").rpartition(")")[2].split()
    if len(columns) < 13:
        return None
    words = read(own / "syscall").split()
    call = CALLS.get(int(words[0]), "") if words and words[0].isdigit() else ""
    arguments = [int(each, 16) for each in words[1:7]] if call else []
    ran = _last_ran(own)
    return Thread(
        tid, read(own / "comm").strip(), columns[0], call, _files(pid, call, arguments, proc),
        _target(call, arguments), int(columns[11]) + int(columns[12]),
        None if ran is None or now is None or columns[0] == "R" else max(0.0, (now - ran) / 1000),
    )  # fmt: skip


def _last_ran(own: Path) -> float | None:
    found = _RAN.search(read(own / "sched"))
    return float(found[1]) if found else None


def _target(call: str, arguments: Sequence[int]) -> int | None:
    """The child that is waited for: wait4(pid), waitid(P_PID = 1, pid)."""
    if call == "wait" and arguments and 0 < arguments[0] < 1 << 31:
        return arguments[0]
    return arguments[1] if call == "waitid" and len(arguments) > 1 and arguments[0] == 1 else None


def _files(pid: int, call: str, arguments: Sequence[int], proc: Path) -> tuple[int, ...]:
    if call in ("read", "write", "connect", "accept", "lock") and arguments:
        return (arguments[0],)
    if call == "poll" and len(arguments) > 1:
        return _polled(pid, arguments[0], min(arguments[1], _MOST_POLLED), proc)
    if call == "select" and len(arguments) > 1:
        return _selected(pid, arguments[1], min(arguments[0], 1024), proc)
    if call == "epoll" and arguments:
        text = read(proc / str(pid) / "fdinfo" / str(arguments[0]))
        return tuple(int(line.split()[1]) for line in text.splitlines() if line.startswith("tfd:"))[:1024]
    return ()


def _polled(pid: int, address: int, count: int, proc: Path) -> tuple[int, ...]:
    """Numbers out of an array of `struct pollfd` {int fd; short events, revents} (poll(2)) of another process."""
    data = _memory(pid, address, count * 8, proc)
    return tuple(fd for fd, _, _ in struct.iter_unpack("ihh", data) if fd >= 0)


def _selected(pid: int, address: int, count: int, proc: Path) -> tuple[int, ...]:
    """Numbers whose bits are set in the set of files to read of another process (select(2))."""
    data = _memory(pid, address, (count + 7) // 8, proc) if address else b""
    return tuple(number for number in range(min(count, len(data) * 8)) if data[number // 8] >> number % 8 & 1)


def _memory(pid: int, address: int, size: int, proc: Path) -> bytes:
    try:
        with (proc / str(pid) / "mem").open("rb", buffering=0) as file:
            file.seek(address)
            data: bytes = file.read(size) or b""
    except (OSError, OverflowError, ValueError):
        return b""
    return data[: len(data) // 8 * 8] if size % 8 == 0 else data


def read(path: Path) -> str:
    """Text of a file of /proc; "" where it is gone or not for us."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""

"""Processes as /proc shows them (proc(5): https://man7.org/linux/man-pages/man5/proc.5.html)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
_MOST_BYTES = 1 << 18
_MOST_FILES = 4096


@dataclass(frozen=True)
class RunningProcess:
    """One process at the moment it was read.

    Args:
        start: clock ticks from boot to its start; with the pid it names the process for good.
        state: one letter, "D" for a wait that nothing interrupts.
        command: its arguments with blanks between; a title it gave itself where it did.
        environ: its variables; empty where they may not be read or the title overwrote them.
        uid: whose it is; -1 where it changed its user only in part.
        program: file name of its executable, None where that may not be read.

    """

    pid: int
    start: int
    parent: int
    group: int
    session: int
    state: str
    uid: int
    name: str
    command: str
    environ: Mapping[str, str] = field(default_factory=dict)
    program: str | None = None

    @property
    def title(self) -> str:
        """What to call it: its command, else the kernel's name."""
        return self.command or f"[{self.name}]"


def read(pid: int, proc: Path = PROC) -> RunningProcess | None:
    """A process; None when it is gone or /proc shows something else."""
    own = proc / str(pid)
    try:
        text = (own / "stat").read_text("utf-8", "replace")
        uid = _owner(own)
        name, _, rest = text[text.index("(") + 1 :].rpartition(")")
        columns = rest.split()
        state, parent, group, session, start = columns[0], *map(int, (columns[1], columns[2], columns[3], columns[19]))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    command = _text(own / "cmdline").replace("\0", " ").strip()
    pairs = (word.partition("=") for word in _text(own / "environ").split("\0"))
    environ = {key: value for key, equals, value in pairs if equals}
    return RunningProcess(pid, start, parent, group, session, state, uid, name, command, environ, _program(own))


def everybody(proc: Path = PROC) -> dict[int, RunningProcess]:
    """All processes by id."""
    ids = [int(entry.name) for entry in os.scandir(proc) if entry.name.isdigit()]
    return {pid: each for pid in ids if (each := read(pid, proc)) is not None}


def below(root: int, processes: Mapping[int, RunningProcess]) -> list[RunningProcess]:
    """A process and all that descend from it, parents before children; empty when it is not there."""
    if root not in processes:
        return []
    children: dict[int, list[RunningProcess]] = {}
    for each in processes.values():
        children.setdefault(each.parent, []).append(each)
    found = [processes[root]]
    for each in found:  # grows while it is walked
        found += sorted(children.get(each.pid, ()), key=lambda one: one.pid)
    return found


def gpu_files(pid: int, proc: Path = PROC, device: str = "/dev/nvidia") -> tuple[str, ...]:
    """GPU devices that a process holds open: /dev/nvidia0 ... (nvidiactl and nvidia-uvm tell of no card)."""
    found = set()
    try:
        with os.scandir(proc / str(pid) / "fd") as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST_FILES:
                    break
                try:
                    target = os.readlink(entry.path)  # noqa: PTH115 - as text
                except OSError:
                    continue
                if target.startswith(device) and target.removeprefix(device).isdigit():
                    found.add(target)
    except OSError:
        return ()
    return tuple(sorted(found))


def age_s(process: RunningProcess, proc: Path = PROC) -> float | None:
    """Seconds since its start, None where the clock cannot be read."""
    try:
        uptime = float((proc / "uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return max(0.0, uptime - process.start / os.sysconf("SC_CLK_TCK"))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _owner(own: Path) -> int:
    """Real user where it is the effective one too; the owner of the files in /proc is root once a process changed."""
    words = next(line for line in _text(own / "status").splitlines() if line.startswith("Uid:")).split()
    return int(words[1]) if words[1] == words[2] else -1


def _program(own: Path) -> str | None:
    try:
        return os.path.basename(os.readlink(own / "exe")).removesuffix(" (deleted)")  # noqa: PTH115, PTH119
    except OSError:
        return None

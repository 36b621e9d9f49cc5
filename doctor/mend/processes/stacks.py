"""Where the processes of a run are: Python stacks by py-spy, and what the kernel tells of each thread.

py-spy stops the process while it looks and needs the permission to trace it: the same user and no ptrace_scope above
0, else root (https://github.com/benfred/py-spy#when-do-you-need-to-run-as-sudo). No signal is sent to have a process
dump itself: one that has no handler for it would die.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from doctor.base.asking import asked
from doctor.base.own_frames import py_spy_without
from doctor.base.redact import redact_text
from doctor.mend.processes.table import PROC, RunningProcess

PY_SPY_S = 20.0
_MOST_THREADS = 256
_PYTHON = re.compile(r"^python[\d.]*$")
_STATUS = ("State", "Threads", "VmRSS", "SigCgt", "SigBlk")
_MAIN = re.compile(r'^Thread .*"MainThread".*\n(?P<frames>(?:[ \t]+.*\n?)*)', re.MULTILINE)
_FRAME = re.compile(r"^\s+(?P<function>\S.*?) \((?P<file>[^()]+\.py):(?P<line>\d+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class StackDump:
    """What is known of one process.

    Args:
        waits: kernel function that its main thread waits in; empty where it runs, or the kernel does not tell.
        frame: innermost Python frame of the main thread, "wait (threading.py:331)"; empty where there is none.
        text: everything, for the file.
        blind: why there are no Python stacks, None where there are or it is no Python.

    """

    process: RunningProcess
    waits: str
    frame: str
    text: str
    blind: str | None


def dump(process: RunningProcess, proc: Path = PROC) -> StackDump:
    """Look at one process; it goes on afterwards."""
    own = proc / str(process.pid)
    waits = _waits(own)
    parts = [f"=== process {process.pid} (parent {process.parent}): {redact_text(process.title)}\n"]
    parts += [f"{line}\n" for line in _read(own / "status").splitlines() if line.partition(":")[0] in _STATUS]
    parts.append(_threads(own))
    frame, blind = "", None
    if _PYTHON.match(process.program or ""):
        stacks, blind = _py_spy(process.pid)
        parts.append(redact_text(stacks) if stacks else f"no Python stacks: {blind}\n")
        frame = _innermost(stacks)
    return StackDump(process, waits, frame, "".join(parts), blind)


def _threads(own: Path) -> str:
    """Name, state and wait of every thread, and the kernel's stack where root asks."""
    lines = []
    try:
        ids = sorted(int(each.name) for each in os.scandir(own / "task"))[:_MOST_THREADS]
    except OSError:
        return ""
    for each in ids:
        task = own / "task" / str(each)
        stat = _read(task / "stat").rpartition(")")[2].split()
        name = _read(task / "comm").strip()
        lines.append(f"thread {each} {name} {stat[0] if stat else '?'} {_waits(task) or '-'}")
        lines += [f"    {line}" for line in _read(task / "stack").splitlines()]
    return "\n".join(lines) + "\n"


def _waits(task: Path) -> str:
    waits = _read(task / "wchan").strip()
    return "" if waits == "0" else waits


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:  # gone, or not for us
        return ""


def program() -> str | None:
    """Path of py-spy, beside the doctor or on PATH."""
    beside = Path(sys.executable).parent / "py-spy"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy")


def _py_spy(pid: int) -> tuple[str, str | None]:
    """Stacks of all threads, with native frames where it can; else why not."""
    path = program()
    if path is None:
        return "", "py-spy is not installed (pip install py-spy)"
    blind = "py-spy did not answer"
    for flags in (["--native"], []):
        done = asked([path, "dump", *flags, "--pid", str(pid)], seconds=PY_SPY_S)
        if done.code is None:
            blind = f"py-spy did not answer within {PY_SPY_S:g} s"
            continue
        if done.code == 0 and done.out.strip():
            return py_spy_without(done.out.decode("utf-8", "replace")), None
        words = done.err.decode("utf-8", "replace").strip().splitlines()
        blind = f"py-spy: {redact_text(words[0])}" if words else f"py-spy ended with exit code {done.code}"
    return "", blind


def _innermost(stacks: str) -> str:
    """The first Python frame of the main thread; native ones come before it."""
    main = _MAIN.search(stacks)
    frame = _FRAME.search(main["frames"] if main else stacks)
    if frame is None:
        return ""
    return f"{frame['function']} ({os.path.basename(frame['file'])}:{frame['line']})"  # noqa: PTH119 - as text


def already_written(process: RunningProcess) -> list[Path]:
    """Stacks that the guard inside the process has written into the run folder when it noticed the standstill."""
    folder = process.environ.get("DOCTOR_RUN_DIR")
    if not folder:
        return []
    return sorted(Path(folder, "stacks").glob(f"*-{process.pid}*.txt"))

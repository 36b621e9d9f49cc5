"""One pass of a rehearsal: the user's command in a session of its own, its output kept, ended at a deadline."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import psutil

from doctor.base.record import record
from doctor.run.folder import VARIABLE, RunDir, host_name
from doctor.run.supervise import NOT_EXECUTABLE, NOT_FOUND

_POLL_S = 0.05
#: seconds without work after which a pass is ended, seconds between two looks, and the share of a core that is work
_IDLE_S, _LOOK_EVERY_S, _BUSY = 75.0, 3.0, 0.02
#: what processes may take to write where they stand, and to end when they are asked to
_CAPSULE_S, _WRITING_S, _ENDING_S = 4.0, 0.3, 3.0
#: what a look at them may take, of processes that py-spy has to ask one after another too
_HANG_S = 20.0
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, https://man7.org/linux/man-pages/man2/prctl.2.html


class StartedProcess(Protocol):
    """A process that has been started, as `subprocess.Popen` shows it."""

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def returncode(self) -> int | Any:
        """Its exit code, negative where a signal ended it; None while it runs."""

    def poll(self) -> int | None:
        """The exit code, looked for; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, waited for so many seconds; raises `subprocess.TimeoutExpired`."""


@record
class Ended:
    """How a pass ended: its exit code as a shell tells it, seconds, and whether the deadline ended it."""

    code: int
    seconds: float
    late: bool = False


def run_pass(
    argv: Sequence[str],
    run: RunDir,
    variables: Mapping[str, str],
    *,
    limit_s: float,
    on_tick: Callable[[], None] = lambda: None,
) -> Ended:
    """Run a command to its end or to the deadline; nothing of it is left running, whatever ends this function.

    Args:
        argv: the command.
        run: folder of the run, where its output is kept.
        variables: its environment.
        limit_s: seconds that it may take.
        on_tick: called now and then while it runs.

    """
    _begin(run, argv)
    with _adopting(), run.console.open("ab") as console:
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                list(argv), env={**variables, VARIABLE: str(run.path)}, stdin=subprocess.DEVNULL, stdout=console,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
            return Ended(code, time.monotonic() - began)
        return _watched(process, run, limit_s, _IDLE_S, on_tick)


def go_on(
    process: StartedProcess,
    argv: Sequence[str],
    run: RunDir,
    *,
    limit_s: float,
    idle_s: float,
    on_tick: Callable[[], None],
) -> Ended:
    """The same with a process that is there already.

    Args:
        process: leader of a session of its own, and a child of this process.
        argv: the command that it stands for.
        run: folder of the run.
        limit_s: seconds that it may take.
        idle_s: seconds without work after which it is ended.
        on_tick: called now and then while it runs.

    """
    _begin(run, argv)
    with _adopting():
        return _watched(process, run, limit_s, idle_s, on_tick)


def _begin(run: RunDir, argv: Sequence[str]) -> None:
    run.write_run(argv=list(argv), cwd=str(Path.cwd()), started_ns=time.time_ns(), host=host_name(), ranks=None)
    run.console.parent.mkdir(parents=True, exist_ok=True)


def _watched(process: StartedProcess, run: RunDir, limit_s: float, idle_s: float, on_tick: Callable[[], None]) -> Ended:
    began, late, idle = time.monotonic(), False, Idle(run.path, idle_s)
    try:
        while process.poll() is None and not late:
            time.sleep(_POLL_S)
            on_tick()
            late = time.monotonic() - began > limit_s or idle.too_long(process.pid)
        if late:
            _look(run)
            _tell_where(run)
    finally:
        end_all(process.pid)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_S)
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    code = 128 - code if code < 0 else code
    run.write_run(ended_ns=time.time_ns(), exit=code)
    return Ended(code, time.monotonic() - began, late)


class Idle:
    """Tells when a pass stands still long before its deadline: nobody computes, and no journal grows.

    Args:
        folder: of the run, below which journals and output grow.
        limit_s: seconds for which it may.

    """

    def __init__(self, folder: Path, limit_s: float = _IDLE_S) -> None:
        self._folder, self._limit_s = folder, limit_s
        self._looked = self._moved = time.monotonic()
        self._seconds, self._bytes = 0.0, -1

    def too_long(self, pid: int) -> bool:
        """Whether the process and its descendants have been idle for so long that they wait for what does not come."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY_S:
            return now - self._moved > self._limit_s
        seconds, size = _cpu_seconds(pid), _size(self._folder)
        if seconds - self._seconds > _BUSY * (now - self._looked) or size != self._bytes:
            self._moved = now
        self._looked, self._seconds, self._bytes = now, seconds, size
        return now - self._moved > self._limit_s


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of all that descends from it."""
    total = 0.0
    with suppress(psutil.Error):
        for each in (psutil.Process(pid), *_descendants(pid)):
            with suppress(psutil.Error):
                times = each.cpu_times()
                total += times.user + times.system
    return total


def _size(folder: Path) -> int:
    """Bytes of journals, events and output."""
    total = 0
    for pattern in ("logs/*", "events/*", "stage/journal/*", "../stage/journal/*"):
        for each in folder.glob(pattern):
            with suppress(OSError):
                total += each.stat().st_size
    return total


@contextmanager
def _adopting() -> Iterator[None]:
    """Be the parent of what outlives its own, for as long: a launcher's workers are found and ended with it."""
    _adopt(1)
    try:
        yield
    finally:
        _adopt(0)


def _adopt(value: int) -> None:
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SUBREAPER, value, 0, 0, 0)


def _look(run: RunDir) -> None:
    """Keep who waits for whom, as `doctor hang` sees it; a look that fails or takes too long costs only itself."""

    def look() -> None:
        with suppress(Exception):
            from doctor.hang.kept import look_at

            look_at(run.path)

    looking = threading.Thread(target=look, name="doctor-hang", daemon=True)
    looking.start()
    looking.join(_HANG_S)


def _tell_where(run: RunDir) -> None:
    """Let the processes write where they stand, as far as they listen."""
    from doctor.monitors.rehearse.standing import SIGNAL, stacks, waiting

    asked = 0
    for each in waiting(run.path):
        with suppress(OSError):
            os.kill(each, SIGNAL)
            asked += 1
    until = time.monotonic() + _CAPSULE_S
    while len(stacks(run.path)) < asked and time.monotonic() < until:
        time.sleep(_POLL_S)
    time.sleep(_WRITING_S if asked else 0)


def end_all(pid: int) -> None:
    """End a process with its group and all that descends from it or from this one by way of it."""
    found = _descendants(pid)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(OSError):
            os.killpg(pid, number)
        for each in found:
            with suppress(psutil.Error):
                each.send_signal(number)
        if number == signal.SIGTERM and found:
            _, left = psutil.wait_procs(found, timeout=_ENDING_S)
            if not left:
                break


def _descendants(pid: int) -> list[psutil.Process]:
    """The process's children, and orphans of its session that this process has adopted."""
    found: dict[int, psutil.Process] = {}
    with suppress(psutil.Error):
        found.update({each.pid: each for each in psutil.Process(pid).children(recursive=True)})
    with suppress(psutil.Error):
        for each in psutil.Process().children(recursive=True):
            with suppress(OSError, psutil.Error):
                if each.pid not in found and os.getsid(each.pid) == pid:
                    found[each.pid] = each
    return list(found.values())

"""The sampler: a process of its own beside the run. Host and processes once a second; the GPUs by a worker below it.

It ends when the process that it watches has ended, when it is told to (SIGTERM), or after a given time. Whatever
happens to it, the run does not notice.
"""

from __future__ import annotations

import argparse
import os
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from doctor.base.own_start import own_module
from doctor.base.record import replace
from doctor.monitors.sampler import columns
from doctor.monitors.sampler.clock import Every, Now, Ticker, now
from doctor.monitors.sampler.gpu_worker import ABSENT
from doctor.monitors.sampler.host_reader import HostReader, Kept, ProcessReader
from doctor.monitors.sampler.processes import Identity, holds_a_gpu, identity, lone_trainer, tree
from doctor.monitors.sampler.table import RowFile, clock_notes
from doctor.run.folder import Events, RunDir

#: a worker that says nothing for so long is given up; at its start the driver may have to wake card after card
SILENT_S, STARTING_S = 10.0, 120.0
#: what it has for its last lines
LAST_S = 1.5
#: and a fresh one is tried so much later
RETRY_S = 30.0
#: new processes are looked for so often, oftener while the run is young; and all of /proc is read so often
TREE_S, YOUNG_S, YOUNG_TREE_S, ANEW_S = 10.0, 30.0, 5.0, 60.0


class GpuWorker:
    """The worker process as the sampler sees it: started, listened to, given up, started again."""

    def __init__(
        self, arguments: list[str], events: Events, *, retry_s: float = RETRY_S, silent_s: float = SILENT_S
    ) -> None:
        self._arguments, self._events = arguments, events
        self._retry_s, self._silent_s = retry_s, silent_s
        self._process: subprocess.Popen[bytes] | None = None
        self._abandoned: list[subprocess.Popen[bytes]] = []
        self._heard_s = self._retry_at = 0.0
        self._text = b""
        self.state = "starting"
        self.missed, self.cpu_s = 0, 0.0
        self._cpu_before_s = 0.0

    def look(self, mono_s: float) -> None:
        """Listen; give up what is silent, start what is due."""
        self._abandoned = [each for each in self._abandoned if each.poll() is None]
        if self._process is None:
            if self.state != "absent" and mono_s >= self._retry_at:
                self._start(mono_s)
            return
        for line in self._lines():
            self._hear(line.decode("utf-8", "replace"), mono_s)
        if self._process.poll() is not None:
            self._ended(self._process.returncode, mono_s)
        elif mono_s - self._heard_s > (STARTING_S if self.state == "starting" else self._silent_s):
            self._give_up(mono_s)

    def _start(self, mono_s: float) -> None:
        command = [*own_module("doctor.monitors.sampler.gpu_worker"), *self._arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        os.set_blocking(self._process.stdout.fileno(), False)
        self._heard_s, self._text, self.state = mono_s, b"", "starting"

    def _lines(self) -> list[bytes]:
        assert self._process is not None  # noqa: S101 - for the type checker
        assert self._process.stdout is not None  # noqa: S101 - for the type checker
        with suppress(BlockingIOError):
            self._text += os.read(self._process.stdout.fileno(), 1 << 16)
        *lines, self._text = self._text.split(b"\n")
        return lines

    def _hear(self, line: str, mono_s: float) -> None:
        word, _, rest = line.partition(" ")
        self._heard_s = mono_s
        if word == "absent":
            self.state = "absent"
            self._events.write("monitor", what="no gpu", reason=rest)
        elif word == "ok":
            if self.state != "ok":
                self.state = "ok"
            missed, _, cpu_s = rest.split()
            self.missed, self.cpu_s = int(missed), self._cpu_before_s + float(cpu_s)

    def _ended(self, code: int, mono_s: float) -> None:
        for line in self._lines():
            self._hear(line.decode("utf-8", "replace"), mono_s)
        self._close()
        if code != ABSENT:
            self.state = "blocked"
            self._retry_at = mono_s + self._retry_s
            self._events.write("monitor", what="gpu worker ended", code=code)

    def _give_up(self, mono_s: float) -> None:
        """A process that hangs inside the driver may not even die now: leave it, and do not wait."""
        assert self._process is not None  # noqa: S101 - for the type checker
        self._process.kill()
        self._abandoned.append(self._process)
        self._close()
        self.state = "blocked"
        self._retry_at = mono_s + self._retry_s
        self._events.write("monitor", what="nvml hangs", silent_s=round(mono_s - self._heard_s, 1))

    def _close(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None
        self._cpu_before_s = self.cpu_s

    def pids(self) -> list[int]:
        """Processes of the worker, those given up as well."""
        return [each.pid for each in (*self._abandoned, self._process) if each is not None]

    def stop(self) -> None:
        """End it, without waiting for a driver that hangs."""
        if self._process is not None:
            self._process.terminate()  # it writes its last lines
            try:
                self._process.wait(LAST_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._close()


class Sampler:
    """Host, processes and the GPU worker of one machine.

    Args:
        run: the run folder.
        root: process whose tree is watched; None: none.
        worker: of the GPUs.
        events: of this process.
        notes: further comment lines for the heads of the files.

    """

    def __init__(
        self, run: RunDir, root: int | None, worker: GpuWorker, events: Events, *, notes: Sequence[str] = ()
    ) -> None:
        self._root, self.worker, self._events = root, worker, events
        self._host, self._processes = HostReader(run.path), ProcessReader()
        begun = [*clock_notes(now()), *notes]
        self._table = RowFile(run.host(), columns.HOST, [f"schema {columns.HOST_SCHEMA}", *begun], anew=False)
        notes = [f"schema {columns.PROCESS_SCHEMA}", *begun]
        self._process_table = RowFile(run.processes(), columns.PROCESS, notes, anew=False)
        self._known: dict[int, Identity] = {}
        self._begun_s = time.monotonic()
        self._tree, self._young_tree, self._anew = Every(TREE_S), Every(YOUNG_TREE_S), Every(ANEW_S)
        self._parents: dict[int, int] = {}

    def tick(self, at: Now, missed: int) -> None:
        """One second's rows."""
        self.worker.look(at.mono_s)
        row = self._host.read(at.mono_s)
        row["gpu_sampling"] = self.worker.state
        row["missed_ticks"] = missed + self.worker.missed
        row["sampler_cpu_s"] = round(time.process_time() + self.worker.cpu_s, 3)
        was_full = self._table.full
        self._table.write([(at, row)])
        if self._table.full and not was_full:
            why = self._table.error
            sys.stderr.write(
                f"doctor monitor: nothing more can be written into the run folder: {why}; sampling continues\n"
            )
        if self._root is not None:
            self._write_processes(at)

    def _write_processes(self, at: Now) -> None:
        young = at.mono_s - self._begun_s < YOUNG_S
        if (self._young_tree if young else self._tree).due(at.mono_s):
            self._look_at_tree()
        rows = []
        for who in list(self._known.values()):
            values = self._processes.read(who.pid, at.mono_s)
            if values is None:
                del self._known[who.pid]
                continue
            rows.append(
                (at, {**values, "parent_pid": who.parent, "name": who.name, "role": who.role, "rank": who.rank})
            )
        self._process_table.write(rows)

    def _look_at_tree(self) -> None:
        assert self._root is not None  # noqa: S101 - for the type checker
        if self._anew.due(time.monotonic()):  # an id may be another's by now
            self._parents.clear()
        pids = set(tree(self._root, parents=self._parents)) - {os.getpid(), *self.worker.pids()}
        # anew each time: a process changes its title
        self._known = {pid: identity(pid) for pid in sorted(pids)}
        if all(who.role != "trainer" for who in self._known.values()):
            alone = self._known.get(lone_trainer(self._root) or 0)
            if alone is not None and alone.role == "other" and holds_a_gpu(alone.pid):
                self._known[alone.pid] = replace(alone, role="trainer")
        self._processes.forget_all_but(self._known)

    def close(self) -> None:
        """Say how it went."""
        self.worker.stop()
        self._events.write("monitor", what="sampler ended", missed_ticks=self.worker.missed)
        for each in (self._table, self._process_table, self._events):
            each.close()


def alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has fetched does not."""
    stat = Kept(Path(f"/proc/{pid}/stat"))
    try:
        return _runs(stat)
    finally:
        stat.close()


def _runs(stat: Kept) -> bool:
    state = stat.read().rpartition(b")")[2].split(None, 1)
    return bool(state) and state[0] not in {b"Z", b"X"}


def main(argv: list[str] | None = None) -> int:
    """Sample until the end."""
    chosen = _read(argv)
    run = RunDir(chosen.run)
    stop: list[int] = []
    _settle(stop)
    events = Events(run, role="monitor")
    root = chosen.tree or chosen.watch
    worker = GpuWorker(_of_worker(chosen, run, root), events, retry_s=chosen.retry_s, silent_s=chosen.silent_s)
    sampler = Sampler(run, root, worker, events, notes=chosen.note)
    _sample(sampler, chosen.watch, chosen.for_s, stop, with_parent=chosen.with_parent or chosen.watch is None)
    sampler.close()
    if chosen.temporary and not stop:  # who says stop reads the rest, and clears up
        shutil.rmtree(run.path, ignore_errors=True)
    return 0


def _read(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="doctor.monitors.sampler.sampling")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--interval", type=float, help="kept; without it, as fast as the cost allows")
    parser.add_argument("--gpus", default="")
    parser.add_argument("--dcgm")
    parser.add_argument("--watch", type=int, help="process whose tree is sampled, and with which the sampler ends")
    parser.add_argument("--tree", type=int, help="process whose tree is sampled instead")
    parser.add_argument("--for-s", type=float)
    parser.add_argument("--note", action="append", default=[], help="a comment line for the heads of the files")
    parser.add_argument("--with-parent", action="store_true", help="end with whoever started it, too")
    parser.add_argument("--temporary", action="store_true", help="remove the run folder, unless SIGTERM ends it")
    parser.add_argument("--retry-s", type=float, default=RETRY_S)
    parser.add_argument("--silent-s", type=float, default=SILENT_S)
    return parser.parse_args(argv)


def _settle(stop: list[int]) -> None:
    """Take SIGTERM down in `stop`, ignore a terminal's signals, and give way to the run."""
    signal.signal(signal.SIGTERM, lambda number, _frame: stop.append(number))
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(5)
    with suppress(OSError, ValueError):  # two files are kept open for each process of the run
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _of_worker(chosen: argparse.Namespace, run: RunDir, root: int | None) -> list[str]:
    """Arguments of the process that asks the driver."""
    arguments = ["--run", str(run.path), "--csv", str(chosen.csv or run.gpu())]
    arguments += ["--interval", str(chosen.interval)] if chosen.interval else []
    arguments += ["--gpus", chosen.gpus] if chosen.gpus else []
    arguments += ["--dcgm", chosen.dcgm] if chosen.dcgm else []
    arguments += [word for note in chosen.note for word in ("--note", note)]
    return [*arguments, "--root", str(root)] if root else arguments


def _sample(sampler: Sampler, watched: int | None, for_s: float | None, stop: list[int], *, with_parent: bool) -> None:
    parent = os.getppid()
    stat = None if watched is None else Kept(Path(f"/proc/{watched}/stat"))
    end_s = None if for_s is None else time.monotonic() + for_s
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)  # SIGTERM ends the sleep below
    selector = selectors.DefaultSelector()
    selector.register(wake, selectors.EVENT_READ)
    ticker = Ticker(1.0, sleep=lambda seconds: (selector.select(seconds), None)[1])
    while not stop and (end_s is None or time.monotonic() < end_s):
        if stat is not None and not _runs(stat):
            return
        if with_parent and os.getppid() != parent:
            return
        ticker.wait()
        sampler.tick(now(), ticker.missed)


if __name__ == "__main__":
    sys.exit(main())

"""Ends processes in order: asked first, then made to, never one that took over a process id.

Why the top first: torchrun's agent closes its workers itself, waits 30 s for them and then kills them
(https://github.com/pytorch/pytorch/blob/v2.9.1/torch/distributed/elastic/multiprocessing/api.py), and DeepSpeed's
launcher kills the tree below each rank
(https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/launcher/launch.py); a child that ended first would be
a failure to them, and with `--max-restarts` a reason to start the run again.
`accelerate launch` on one process hands nothing on
(https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/commands/launch.py), so what is left after the
grace is asked itself before it is killed.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from doctor.catalogue.plan import Refused
from doctor.mend.processes.table import PROC, RunningProcess, below, everybody, read

#: what torchrun gives its workers, and a little to notice it
GRACE_S = 35.0
_ASKED_S = 5.0
_KILLED_S = 5.0
_POLL_S = 0.05


class Handle:
    """One process, so held that no other can be meant: by pidfd where the kernel has it, else by its start time.

    Raises:
        Refused: it belongs to another user.
        ProcessLookupError: it is gone, or its id is another's by now.

    """

    def __init__(self, process: RunningProcess, proc: Path = PROC) -> None:
        if process.uid != os.getuid():
            msg = f"process {process.pid} belongs to another user"
            raise Refused(msg)
        self.process, self._proc = process, proc
        self._fd: int | None = None
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):  # an old kernel, or a seccomp profile
                self._fd = os.pidfd_open(process.pid)
        if not self._is_it():
            self.close()
            raise ProcessLookupError

    def send(self, number: int) -> None:
        """Send a signal; nothing happens when the process is gone."""
        with suppress(ProcessLookupError):
            if self._fd is not None:
                signal.pidfd_send_signal(self._fd, number)
            elif self._is_it():
                os.kill(self.process.pid, number)

    def alive(self) -> bool:
        """Whether it runs; a zombie does not."""
        now = read(self.process.pid, self._proc)
        return now is not None and now.start == self.process.start and now.state not in "ZX"

    def close(self) -> None:
        """Give the pidfd back."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _is_it(self) -> bool:
        now = read(self.process.pid, self._proc)
        return now is not None and now.start == self.process.start


@dataclass(frozen=True)
class Ended:
    """How it went: who ended by itself when asked, who was killed, who is still there and in which state."""

    asked: tuple[int, ...]
    killed: tuple[int, ...]
    left: tuple[tuple[int, str], ...]


def end(
    tree: Sequence[RunningProcess], *, grace_s: float = GRACE_S, tell: Callable[[str], None] = lambda _: None
) -> Ended:
    """End a tree: its top is asked, then all that are left, then they are killed, the top first.

    Children that it makes meanwhile belong to it.

    Args:
        tree: parents before children, as `table.below` gives it.
        grace_s: how long the top has to end the others.
        tell: called with "term", "term_all", "kill" when it begins.

    Raises:
        Refused: one of them belongs to another user; nothing was sent.

    """
    handles = _Handles(tree)
    try:
        handles.hold(tree)
        tell("term")
        handles.send(signal.SIGTERM, tree[:1])
        handles.wait(grace_s)
        if handles.left():
            tell("term_all")
            handles.send(signal.SIGTERM)
            handles.wait(min(_ASKED_S, grace_s))
        asked = {each.pid for each in handles.all()} - {each.pid for each in handles.left()}
        killed: set[int] = set()
        for _ in range(3):  # one that forks meanwhile is found by the next look
            if not (left := handles.left()):
                break
            tell("kill")
            killed |= {each.pid for each in left}
            handles.send(signal.SIGKILL)
            handles.wait(_KILLED_S)
        left_over = tuple((each.pid, now.state) for each in handles.left() if (now := read(each.pid)) is not None)
        return Ended(tuple(sorted(asked)), tuple(sorted(killed - {pid for pid, _ in left_over})), left_over)
    finally:
        handles.close()


class _Handles:
    """Handles of a tree that may grow."""

    def __init__(self, tree: Sequence[RunningProcess]) -> None:
        for each in tree:
            if each.uid != os.getuid():
                msg = f"process {each.pid} ({each.title[:60]}) belongs to another user; nothing was ended"
                raise Refused(msg)
        self._held: dict[tuple[int, int], Handle] = {}

    def hold(self, processes: Iterable[RunningProcess]) -> None:
        for each in processes:
            if (each.pid, each.start) not in self._held:
                with suppress(ProcessLookupError, Refused):
                    self._held[each.pid, each.start] = Handle(each)

    def all(self) -> list[RunningProcess]:
        return [each.process for each in self._held.values()]

    def left(self) -> list[RunningProcess]:
        """Those that run, and what they have started since, in order."""
        living = [each.process for each in self._held.values() if each.alive()]
        processes = everybody()
        for each in living:
            self.hold(below(each.pid, processes))
        return [each.process for each in self._held.values() if each.alive()]

    def send(self, number: int, only: Sequence[RunningProcess] | None = None) -> None:
        """To all of them or some, in order; one that is stopped goes on, or it would never see a SIGTERM."""
        wanted = None if only is None else {(each.pid, each.start) for each in only}
        for key, each in list(self._held.items()):
            if wanted is None or key in wanted:
                each.send(number)
                each.send(signal.SIGCONT)

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(each.alive() for each in self._held.values()):
            time.sleep(_POLL_S)

    def close(self) -> None:
        for each in self._held.values():
            each.close()

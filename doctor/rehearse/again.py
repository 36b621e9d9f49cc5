"""The copy of a first pass's process that goes on as the second one; see `doctor.monitors.rehearse.again`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from doctor.monitors.rehearse.again import FOLDER, PID, PIPE

_POLL_S = 0.05


class Copy:
    """A process that this one has adopted; the shape is that of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative where a signal ended it; None while it runs."""
        if self.returncode is None:
            try:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else was told how it ended
                self.returncode = 1
            else:
                self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code.

        Raises:
            subprocess.TimeoutExpired: it runs on.

        """
        until = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0.0)
            time.sleep(_POLL_S)
        return self.returncode or 0


@contextmanager
def keeping(root: Path, *, wanted: bool) -> Iterator[Keeping]:
    """Let a copy wait for as long as the block lasts; afterwards there is none.

    Args:
        root: the rehearsal's folder.
        wanted: False where no copy is asked for.

    """
    kept = Keeping(root, wanted=wanted)
    kept.lay()
    try:
        yield kept
    finally:
        kept.end()


class Keeping:
    """Where a copy waits, as `keeping` says."""

    def __init__(self, root: Path, *, wanted: bool) -> None:
        self._folder = root / FOLDER
        self._wanted = wanted and sys.platform.startswith("linux")
        self._pipe: int | None = None
        self._copy: Copy | None = None

    @property
    def doctor(self) -> int:
        """Id of this process for the settings of the first pass; 0 where there will be no copy."""
        return 0 if self._pipe is None else os.getpid()

    def lay(self) -> None:
        """Lay down the pipe; a system without one gets no copy."""
        if self._wanted:
            with suppress(OSError):
                self._folder.mkdir(parents=True)
                os.mkfifo(self._folder / PIPE, 0o600)
                # read and write: opening waits for nobody, and the pipe is closed with this process
                self._pipe = os.open(self._folder / PIPE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def end(self) -> None:
        """End the copy that waits still."""
        copy = self.found()
        if copy is not None and copy.poll() is None:
            with suppress(OSError):
                os.kill(copy.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                copy.wait(5.0)
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def found(self) -> Copy | None:
        """The copy, if there is one."""
        if self._copy is None and self._pipe is not None:
            with suppress(OSError, ValueError):
                self._copy = Copy(int((self._folder / PID).read_text(encoding="ascii")))
        return self._copy

    def told(self, variables: Mapping[str, str], console: Path) -> Copy | None:
        """The copy, told to go on with these variables and this output; None where there is none that hears it."""
        copy = self.found()
        if copy is None or self._pipe is None or copy.poll() is not None:
            return None
        said = json.dumps({"variables": dict(variables), "console": str(console)}) + "\n"
        try:
            os.write(self._pipe, said.encode())
        except OSError:
            return None
        return copy

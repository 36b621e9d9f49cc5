"""Runs a deep probe in a child process that can crash, hang or fork and still costs only its own time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from doctor.base.record import record
from doctor.base.scratch import Folder

_POLL_S = 0.01
_MAX_OUTPUT = 256 << 10


@record
class Ended:
    """How a child ended.

    Args:
        said: its JSON lines.
        signal: name of the signal that it died of, "SIGSEGV".
        timed_out: it was killed after its time.
        stderr: the end of what it printed there.

    """

    said: tuple[Mapping[str, Any], ...]
    exit_code: int | None
    signal: str | None
    timed_out: bool
    seconds: float
    stderr: str = ""

    def all(self, key: str) -> list[Mapping[str, Any]]:
        """Lines that have a key."""
        return [line for line in self.said if key in line]


class Child:
    """A patient script under way. `finish` must be called: it waits, ends the whole process group and reads."""

    def __init__(
        self,
        executable: str,
        arguments: tuple[str, ...],
        *,
        environ: Mapping[str, str],
        timeout_s: float,
        text: str | None = None,
    ) -> None:
        """Start a probe, stdin closed, in a session and an empty folder of its own.

        `text` is the program, doctor/readers/patient/deep.py where None; it gets a file for its lines, the seconds that
        it has, and the arguments.

        Raises:
            OSError: the interpreter cannot be started.

        """
        self._folder = Folder("child")
        self._output = Path(self._folder.name) / "said"
        if text is None:
            text = (resources.files("doctor.readers.patient") / "deep.py").read_text("utf-8")
        self._started = time.monotonic()
        self._deadline = self._started + timeout_s
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in finish; a pipe would be held by grandchildren
        try:
            self._process = subprocess.Popen(
                [executable, "-c", text, str(self._output), f"{timeout_s:g}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env=dict(environ),
                cwd=self._folder.name,
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            self._folder.cleanup()
            raise

    def finish(self) -> Ended:
        """Wait for the end or the deadline, kill what is left of the group, and tell how it ended."""
        try:
            timed_out = not self._exited()
            # the group is killed before its leader is reaped, so that its number cannot belong to anybody else
            self._kill_group()
            code = self._process.wait()
            seconds = time.monotonic() - self._started
            died_of = _signal_name(-code) if code < 0 and not timed_out else None
            return Ended(self._said(), None if code < 0 else code, died_of, timed_out, seconds, self._stderr())
        finally:
            self._errors.close()
            self._folder.cleanup()

    def over(self) -> bool:
        """Whether it has ended or used up its time, so that `finish` does not wait."""
        return self._status() is not None or time.monotonic() >= self._deadline

    def failed(self) -> bool:
        """Whether it has ended with an error that it told, or without a word."""
        return self._status() is not None and [line.get("outcome") for line in self._said()][-1:] != ["ok"]

    def end_within(self, seconds: float) -> None:
        """Leave it only so much time more."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def _exited(self) -> bool:
        """Whether the child ended in time; it is left unreaped."""
        while not self.over():
            time.sleep(_POLL_S)
        return self._status() is not None

    def _status(self) -> object | None:
        """What the system tells of its end, None while it runs; it is left unreaped."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def _kill_group(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()

    def _said(self) -> tuple[Mapping[str, Any], ...]:
        try:
            with self._output.open("rb") as file:
                lines = file.read(_MAX_OUTPUT).decode("utf-8", "replace").splitlines()
        except OSError:
            return ()
        said = []
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:  # torn by the crash
                continue
            if isinstance(value, dict):
                said.append(value)
        return tuple(said)

    def _stderr(self) -> str:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4096))
        return self._errors.read().decode("utf-8", "replace").strip()


def run(executable: str, arguments: tuple[str, ...], *, environ: Mapping[str, str], timeout_s: float) -> Ended:
    """Start a probe and wait for its end."""
    return Child(executable, arguments, environ=environ, timeout_s=timeout_s).finish()


def finish_together(children: Sequence[Child], *, grace_s: float) -> list[Ended]:
    """Wait for children that wait for each other: once one has failed, the others get only `grace_s` more."""
    while not all(child.over() for child in children):
        if any(child.failed() for child in children):
            for child in children:
                child.end_within(grace_s)
            break
        time.sleep(_POLL_S)
    return [child.finish() for child in children]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

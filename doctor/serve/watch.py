"""Looks after a server from outside: its start has an end, and a dead engine gets a diagnosis that clients are told."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.fixes.vllm_server.record import CAUSE, PENDING
from doctor.run.console import thread
from doctor.run.disk import refusal
from doctor.run.folder import RunDir
from doctor.serve.patient import ATTACHED, FOLDER

_LOOK_S = 0.2
#: what a server that has not come up gets to end by itself
_GRACE_S = 15.0
#: the engine's own words may come after those of the server that lost it
_SETTLE_S = 0.5

#: makes a report (DESIGN's JSON) from what the server has printed so far
Diagnose = Callable[[], dict[str, Any]]


class Watch:
    """A thread beside the supervisor.

    Args:
        run: the run folder.
        deadline_s: how long the server may take until it listens; None: for ever.
        address: where it will listen: a server that does so without uvicorn (gRPC) is up as well.
        diagnose: reads the console log.
        say: tells the user one sentence.
        prepare: makes what `diagnose` needs, while the server starts: when it has died somebody waits for the cause,
            and on a machine that has more to do than cores each tenth of a second of work is many of waiting.

    """

    def __init__(
        self,
        run: RunDir,
        deadline_s: float | None,
        address: tuple[str, int],
        diagnose: Diagnose,
        say: Callable[[str], None],
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self.listening = False
        self.engine_died = False
        self.overdue = False
        self.run = run
        self._deadline_s = deadline_s
        self._address = address
        self._diagnose = diagnose
        self._say = say
        self._prepare = prepare
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._sizes: dict[str, int] = {}

    @property
    def console(self) -> Path:
        """What the server printed."""
        return self.run.console

    @property
    def attached(self) -> bool:
        """Whether the start-up hook ran in the server."""
        return os.path.exists(self.run.path / FOLDER / ATTACHED)  # noqa: PTH110 - pathlib raises where a disk has gone

    def start(self, pid: int) -> None:
        """Look after the process from now on; signals stay the main thread's."""
        self._thread = thread(lambda: self._watch(pid), "serve-watch")

    def stop(self) -> None:
        """The server has ended: take in what it told last."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_GRACE_S)
        self._look()

    def _watch(self, pid: int) -> None:
        started = time.monotonic()
        threading.Thread(target=self._make_ready, name="serve-ready", daemon=True).start()
        told = False
        while not self._stop.wait(_LOOK_S):
            self._look()
            if self.engine_died and not told:
                told = True
                self._announce()
                self._stop.wait(_SETTLE_S)
                self._tell_cause()
            late = self._deadline_s is not None and time.monotonic() - started > self._deadline_s
            if late and not self.listening and not self.overdue:
                self.listening = self._answers()
                if not self.listening:
                    self._end(pid)

    def _make_ready(self) -> None:
        with suppress(Exception):  # `diagnose` will meet it again
            self._prepare()

    def _look(self) -> None:
        """Read the server's events where there are new ones."""
        try:
            sizes = {str(path): path.stat().st_size for path in self.run.path.glob("events/*.jsonl")}
        except OSError:  # the disk has gone, and may come back
            return
        if sizes == self._sizes:
            return
        self._sizes = sizes
        for event in self.run.read_events():
            data = event.get("data") or {}
            self.listening = self.listening or bool(data.get("listening"))
            self.engine_died = self.engine_died or bool(data.get("engine_dead"))

    def _answers(self) -> bool:
        try:
            socket.create_connection(self._address, timeout=1).close()
        except OSError:
            return False
        return True

    def _announce(self) -> None:
        """Say that the cause is looked for: who waits for it is patient as long as this process lives."""
        with suppress(OSError):
            (self.run.path / PENDING).write_text(str(os.getpid()), encoding="utf-8")

    def _tell_cause(self) -> None:
        """Leave the diagnosis where the server's answers to its clients pick it up."""
        found: dict[str, Any] = {"id": None}
        with suppress(Exception):  # a bug of ours costs the cause, not the answer
            report = self._diagnose()
            first = cause_in(report)
            if first is not None:
                found = {name: first[name] for name in ("id", "name", "headline", "explanation", "remedy")}
        with suppress(OSError):
            made = self.run.path / f".{CAUSE}"
            made.write_text(json.dumps(found), encoding="utf-8")
            made.replace(self.run.path / CAUSE)
        with suppress(OSError):
            (self.run.path / PENDING).unlink(missing_ok=True)

    def _end(self, pid: int) -> None:
        """The start has taken too long: end the server and all that it started."""
        self.overdue = True
        if (number := refusal(self.run)) is not None:
            self._say(
                f"nothing can be written into the run folder ({os.strerror(number)}), so whether the server listens "
                "is not known; it is left running"
            )
            return
        if not self.attached:
            self._say("the start-up hook is not in the server, so whether it listens is not known; it is left running")
            return
        self._say(f"the server does not listen after {self._deadline_s:g} s: it is ended")
        import psutil

        try:
            tree = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        except psutil.Error:
            return
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + _GRACE_S
        # looked at, never waited for: the exit code is the supervisor's to take
        while time.monotonic() < end and any(_lives(each) for each in tree):
            time.sleep(_LOOK_S)
        for each in tree:
            with suppress(psutil.Error):
                if _lives(each):
                    each.kill()


def cause_in(report: dict[str, Any]) -> dict[str, Any] | None:
    """The finding that says why the engine died; None where a report holds only what was odd before.

    That is an error in the role of the cause, or the answer that nothing known fits. A warning of the start is none.
    """
    causes = [each for each in report["findings"] if each["role"] == "cause"]
    found = next((each for each in causes if each["severity"] == "error"), None)
    if found is None and report.get("verdict") == "unknown":
        found = next((each for each in causes if each["severity"] != "info"), None)
    return found


def _lives(process: Any) -> bool:
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False

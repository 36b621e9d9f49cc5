"""Real processes for tests that end some: only what a test started itself, by id and start time."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from doctor.mend.processes import ending, table


class Started:
    """What a test started, ended with it; an id that is another's by then is left alone."""

    def __init__(self) -> None:
        self.children: list[subprocess.Popen[str]] = []
        self.others: list[table.RunningProcess] = []

    def child(self, argv: list[str], **options: Any) -> subprocess.Popen[str]:
        self.children.append(subprocess.Popen(argv, **{"stdout": subprocess.PIPE, "text": True, **options}))
        return self.children[-1]

    def other(self, pid: int) -> int:
        process = table.read(pid)
        assert process is not None
        self.others.append(process)
        return pid

    def end(self) -> None:
        for each in self.others:
            with suppress(ProcessLookupError):
                ending.Handle(each).send(signal.SIGKILL)
        for child in self.children:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


def alive(pid: int) -> bool:
    process = table.read(pid)
    return process is not None and process.state not in "ZX"


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that must become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)

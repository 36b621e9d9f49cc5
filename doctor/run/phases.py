"""`with doctor.phase("generation"):` says in the run folder what the run is doing.

Outside of a run that the doctor watches it does nothing. Runs inside the patient, so it keeps to Python 3.9 and the
standard library, and never raises into the training loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from doctor.run.folder import PHASES, Events, RunDir

_writer: Optional[tuple[int, Events]] = None


@contextmanager
def phase(name: str, step: Optional[int] = None) -> Iterator[None]:
    """Mark what happens inside as one of PHASES; another name counts as "other" and is kept beside it."""
    _mark(name, "begin", step)
    try:
        yield
    finally:
        _mark(name, "end", step)


def _mark(name: str, edge: str, step: Optional[int]) -> None:
    try:
        events = _events()
        if events is None:
            return
        if name in PHASES:
            events.write("phase", step=step, name=name, edge=edge)
        else:
            events.write("phase", step=step, name="other", edge=edge, label=str(name))
    except Exception:  # noqa: BLE001, S110 - a bug of ours must never reach the training loop
        pass


def _events() -> Optional[Events]:
    """The writer of this process; a forked child gets one of its own."""
    global _writer  # noqa: PLW0603 - one file a process
    if _writer is None or _writer[0] != os.getpid():
        run = RunDir.of_environment()
        if run is None:
            return None
        _writer = (os.getpid(), Events(run))
    return _writer[1]

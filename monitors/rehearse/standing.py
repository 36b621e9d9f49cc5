"""Where a process of a rehearsal stands when its time is over: asked by a signal, written by Python's fault handler.

The fault handler needs no interpreter that answers: it writes the stacks of all threads while a library holds them.
https://docs.python.org/3/library/faulthandler.html#faulthandler.register
"""

from __future__ import annotations

import faulthandler
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import IO, Optional

#: nobody's: programs seldom have a handler for it
SIGNAL = signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR2
_PREFIX = "deadline-"


class _Held:
    file: Optional[IO[str]] = None


def listen(run: Path) -> None:
    """Write the stacks of this process when it is asked to.

    Raises:
        OSError: the folder cannot be written.

    """
    folder = run / "stacks"
    folder.mkdir(parents=True, exist_ok=True)
    rank = os.environ.get("RANK", "")
    name = f"{_PREFIX}{f'rank{rank}-' if rank.isdecimal() else ''}{os.getpid()}.part"
    _Held.file = (folder / name).open("w")
    faulthandler.register(SIGNAL, file=_Held.file, all_threads=True)


def waiting(run: Path) -> list[int]:
    """Ids of the processes that listen and are still there."""
    found = []
    for each in (run / "stacks").glob(f"{_PREFIX}*.part"):
        number = each.stem.rpartition("-")[2]
        if number.isdecimal() and Path("/proc", number).is_dir():
            found.append(int(number))
    return found


def stacks(run: Path) -> dict[str, str]:
    """Process -> what it wrote; those that wrote nothing are left out."""
    found = {}
    for each in sorted((run / "stacks").glob(f"{_PREFIX}*")):
        with suppress(OSError):
            text = each.read_text(encoding="utf-8", errors="replace")
            if text.strip():
                found[each.stem.partition("-")[2]] = text
    return found

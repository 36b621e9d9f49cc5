"""Beside a run of `doctor run`: looks at it when a guard inside says that it stands still, while it still does."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from doctor.run.console import thread
from doctor.run.folder import RunDir

#: folder among the run's hangs for the guards' capsules; `doctor.monitors.guard.stuck` has the same name
GUARDS = "guard"
_LOOK_EVERY_S = 3.0
#: other ranks notice at their own tick, and all of them are to be seen in the same look
_SETTLE_S = 5.0
#: not again so soon: every rank writes a capsule of the same standstill
_APART_S = 120.0


class Watching:
    """A thread that costs one look at a folder every few seconds.

    Args:
        run: the run folder.

    """

    def __init__(self, run: RunDir) -> None:
        self._folder, self._run = run.path / "hangs" / GUARDS, run
        self._ended = threading.Event()
        self._thread = thread(self._watch, "doctor-hang")

    def close(self) -> None:
        """End it; a look that is under way is waited for, for a while."""
        self._ended.set()
        self._thread.join(_SETTLE_S)

    def _watch(self) -> None:
        looked_ns = 0
        while not self._ended.wait(_LOOK_EVERY_S):
            told_ns = _newest(self._folder)
            if told_ns > looked_ns + int(_APART_S * 1e9) and not self._ended.wait(_SETTLE_S):
                looked_ns = max(told_ns, _newest(self._folder))
                with suppress(Exception):  # a look that fails costs the run nothing
                    from doctor.hang.kept import look_at

                    look_at(self._run.path)


def _newest(folder: Path) -> int:
    """When the newest file in a folder was written, in nanoseconds; 0 where there is none."""
    try:
        return max((each.stat().st_mtime_ns for each in folder.glob("*.json")), default=0)
    except OSError:
        return 0

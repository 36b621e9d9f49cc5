"""How far the clocks of machines lie apart: comparisons of many round trips, and against a shared file system.

A clock that is asked tells its time somewhere between the question and the answer, so the middle of the two is wrong by
at most half of the way, and the quickest round trip knows most: https://www.rfc-editor.org/rfc/rfc5905#section-8
"""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

#: a comparison is told anew when it is so much better, or so old
BETTER, AGAIN_S = 0.5, 600.0

#: f_type (linux/magic.h) of the file system whose server stamps with its own time when it is asked to (SETATTR with
#: SET_TO_SERVER_TIME, https://www.rfc-editor.org/rfc/rfc1813#section-3.3.2); Lustre, GPFS and Ceph stamp with the
#: client's clock, so nothing is learned there
NFS = 0x6969
_TRIES = 5


class Offset(NamedTuple):
    """A clock minus another, in seconds, and the most that it can be wrong by."""

    offset_s: float
    error_s: float


class Comparisons:
    """Comparisons of many clocks; gives the best of each when it is worth telling."""

    def __init__(self) -> None:
        self._best: dict[str, Offset] = {}
        self._told: dict[str, tuple[float, float]] = {}  # error, when

    def take(self, name: str, offset_s: float, error_s: float, mono_s: float | None = None) -> Offset | None:
        """Take one in; the offset to tell now, None while what was told still holds."""
        now = time.monotonic() if mono_s is None else mono_s
        best = self._best.get(name)
        if best is None or error_s < best.error_s:
            best = self._best[name] = Offset(offset_s, error_s)
        told = self._told.get(name)
        if told is not None and best.error_s > BETTER * told[0] and now - told[1] < AGAIN_S:
            return None
        self._told[name] = (best.error_s, now)
        del self._best[name]  # clocks drift: the next one told is of the time to come
        return best


def against_folder(folder: Path) -> Offset | None:
    """Our clock minus that of the server of a shared folder; None where its stamps do not tell it."""
    if _file_system(folder) != NFS:
        return None
    path = folder / f".clock-{os.uname().nodename}-{os.getpid()}"
    found: list[Offset] = []
    with suppress(OSError):
        try:
            path.touch()
            for _ in range(_TRIES):
                before = time.time()
                os.utime(path)  # without times: the server's own
                after = time.time()
                found.append(Offset((before + after) / 2 - path.stat().st_mtime, (after - before) / 2))
        finally:
            path.unlink()
    return min(found, key=lambda each: each.error_s, default=None)


def _file_system(folder: Path) -> int | None:
    """`f_type` of statfs(2), its first word."""
    libc = ctypes.CDLL(None, use_errno=True)
    answer = (ctypes.c_long * 32)()
    return int(answer[0]) if libc.statfs(os.fsencode(folder), ctypes.byref(answer)) == 0 else None

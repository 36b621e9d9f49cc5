"""How far the clocks of machines lie apart: comparisons of many round trips, and against a shared file system.

A clock that is asked tells its time somewhere between the question and the answer, so the middle of the two is wrong by
at most half of the way, and the quickest round trip knows most: https://www.rfc-editor.org/rfc/rfc5905#section-8
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from doctor.readers.machine import mounts as _mounts

#: a comparison is told anew when it is so much better, or so old
BETTER, AGAIN_S = 0.5, 600.0

_TRIES = 5
_STEP_S = 0.01  # a server's kernel may stamp files by its timer's tick


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


def against_folder(folder: Path, mounts: tuple[_mounts.MountPoint, ...] | None = None) -> Offset | None:
    """Our clock minus that of the server of a shared folder; None where its stamps do not tell it.

    Only NFS is asked: its server stamps what is set to "now" (SET_TO_SERVER_TIME,
    https://www.rfc-editor.org/rfc/rfc8881#section-18.30), of a folder always, of a file unless it is delegated
    (https://www.rfc-editor.org/rfc/rfc9754#section-5). Lustre, CephFS and GPFS take the client's own clock, which would
    always agree with itself.

    Raises:
        OSError: the folder cannot be written.

    """
    probe = folder / f".{os.uname().nodename}.{os.urandom(4).hex()}.clock"
    try:
        probe.mkdir()
        mount = _mounts.above(str(folder.resolve()), _mounts.read() if mounts is None else mounts)
        if mount is None or mount.kind not in {"nfs", "nfs4"}:
            return None
        return min((_compared(probe) for _ in range(_TRIES)), key=lambda each: each.error_s)
    finally:
        with suppress(FileNotFoundError):
            probe.rmdir()


def _compared(probe: Path) -> Offset:
    """One look at the server's clock: half of the way there and back is what it can be wrong by."""
    before = time.time()
    os.utime(probe)  # without times: the server's own
    after = time.time()
    return Offset((before + after) / 2 - probe.stat().st_mtime, (after - before) / 2 + _STEP_S)

"""What became of the run folder's disk meanwhile: the folder cannot be read any more, or nothing more be written."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Optional

from doctor.run.folder import ROOM_BYTES, RunDir
from doctor.run.supervise import within

#: seconds that a disk has to answer; a network's may have gone
_ANSWER_S = 5.0
_ONE_BLOCK = 1
_TRIED_BYTES = 4 * ROOM_BYTES


def identity(run: RunDir) -> Optional[tuple[int, int]]:
    """By what one can tell later whether it is still the same folder; None where the disk does not answer."""
    found: list[tuple[int, int]] = []
    within(_ANSWER_S, lambda: found.append(_identity(run)))
    return found[0] if found else None


def lost(run: RunDir, before: Optional[tuple[int, int]]) -> Optional[int]:
    """The error number by which a folder of that `identity` is gone or cannot be read; None where it can.

    ENOENT where it was removed or another one is in its place; None too where nothing is known.
    """
    found: list[int] = []

    def look() -> None:
        try:
            if before not in (None, _identity(run)):
                found.append(errno.ENOENT)
            list(run.path.iterdir())  # a kernel may know a folder from before that its disk does not give any more
        except OSError as exc:
            found.append(exc.errno or errno.EIO)

    within(_ANSWER_S, look)
    return found[0] if found else None


def _identity(run: RunDir) -> tuple[int, int]:
    status = run.path.stat()
    return status.st_dev, status.st_ino


def refusal(run: RunDir) -> Optional[int]:
    """The error number by which nothing can be written into a run folder now; None where it can, or is not known.

    ENOSPC where no block or no inode is left for a user, whatever root may still write.
    """
    found: list[int] = []

    def look() -> None:
        try:
            told = os.statvfs(run.path)
            # a file system without a fixed number of inodes tells 0 of 0
            if told.f_bavail < _ONE_BLOCK or (told.f_files > 0 and told.f_favail == 0):
                found.append(errno.ENOSPC)
            _try_to_write(run)
        except OSError as exc:
            found.append(exc.errno or errno.EIO)

    within(_ANSWER_S, look)
    return found[0] if found else None


def _try_to_write(run: RunDir) -> None:
    """Write what does not fit into the room that was kept for the last notes, and take it away again.

    Raises:
        OSError: it cannot be written.

    """
    tried = run.path / f".{os.getpid()}.tried"
    try:
        with tried.open("wb", buffering=0) as file:
            file.write(bytes(_TRIED_BYTES))
            os.fsync(file.fileno())  # a quota may be told as late as this
    finally:
        with suppress(OSError):
            tried.unlink(missing_ok=True)

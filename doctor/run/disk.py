"""What became of the run folder's disk meanwhile: the folder was removed, or no room is left."""

from __future__ import annotations

import errno
import os
from typing import Optional

from doctor.run.folder import RunDir
from doctor.run.supervise import within

#: seconds that a disk has to answer; a network's may have gone
_ANSWER_S = 5.0
_ONE_BLOCK = 1


def identity(run: RunDir) -> Optional[tuple[int, int]]:
    """By what one can tell later whether it is still the same folder; None where the disk does not answer."""
    found: list[tuple[int, int]] = []
    within(_ANSWER_S, lambda: found.append(_identity(run)))
    return found[0] if found else None


def lost(run: RunDir, before: Optional[tuple[int, int]]) -> Optional[int]:
    """The error number by which a folder of that `identity` is gone; None where it is there or nothing is known."""
    found: list[int] = []

    def look() -> None:
        try:
            if before not in (None, _identity(run)):
                found.append(errno.ENOENT)  # another one is in its place
        except OSError as exc:
            found.append(exc.errno or errno.EIO)

    within(_ANSWER_S, look)
    return found[0] if found else None


def _identity(run: RunDir) -> tuple[int, int]:
    status = run.path.stat()
    return status.st_dev, status.st_ino


def full(run: RunDir) -> bool:
    """Whether a user can write nothing more into a run folder: no block or no inode of its disk is left."""
    found: list[bool] = []

    def look() -> None:
        told = os.statvfs(run.path)
        # a file system without a fixed number of inodes tells 0 of 0
        found.append(told.f_bavail < _ONE_BLOCK or (told.f_files > 0 and told.f_favail == 0))

    within(_ANSWER_S, look)
    return bool(found) and found[0]

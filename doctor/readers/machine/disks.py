"""Free space under the paths that a run writes to; a dead mount costs only its own time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping

from doctor.base.deadline import Pending
from doctor.facts.host import Disk

#: an answer of a mounted file system takes microseconds; one that needs longer is in trouble
PATIENCE_S = 0.5


def look(paths: Mapping[str, str], mountinfo: str) -> tuple[Disk, ...]:
    """Measure the file system of each purpose's path, side by side.

    Args:
        paths: purpose -> absolute path, which need not exist: its nearest existing parent counts.
        mountinfo: text of /proc/self/mountinfo, which names a file system without touching it.

    """
    mounts = _mounts(mountinfo)
    pending = {purpose: Pending(lambda path=path: _measure(path)) for purpose, path in paths.items()}  # type: ignore[misc]
    until = time.monotonic() + PATIENCE_S
    disks = []
    for purpose, path in paths.items():
        answered, value = pending[purpose].result(until)
        kind = _filesystem(path, mounts)
        if value is not None:
            free_bytes, free_inodes, writable, in_the_way = value
            disks.append(Disk(purpose, path, free_bytes, free_inodes, writable, kind, in_the_way=in_the_way))
        else:
            error = "cannot be read" if answered else f"did not answer within {PATIENCE_S:g} s"
            disks.append(Disk(purpose, path, filesystem=kind, error=error))
    return tuple(disks)


def _measure(path: str) -> tuple[int, int | None, bool | None, str | None]:
    """Free bytes for this user, free inodes (None where the file system has no such limit), writability, obstacle.

    Whether somebody may write to a file tells nothing of a folder, so beside an obstacle writability is None.
    """
    there, in_the_way = path, None
    while not os.path.isdir(there):  # noqa: PTH112 - plain strings, in a thread of its own
        if in_the_way is None and os.path.lexists(there):
            in_the_way = there
        parent = os.path.dirname(there)  # noqa: PTH120
        if parent == there:
            break
        there = parent
    state = os.statvfs(there)
    inodes = state.f_favail if state.f_files else None  # btrfs, overlay on some, NFS: 0 of 0
    writable = os.access(there, os.W_OK | os.X_OK) if in_the_way is None else None
    return state.f_bavail * state.f_frsize, inodes, writable, in_the_way


def _mounts(mountinfo: str) -> list[tuple[str, str]]:
    """(mount point, file system) in mount order. proc_pid_mountinfo(5)."""
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) > 4 and kind:
            found.append((re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), fields[4]), kind[0]))
    return found


def _filesystem(path: str, mounts: list[tuple[str, str]]) -> str | None:
    """Name the file system by the longest mount point above the path; of two equal ones the later lies on top."""
    best, kind = -1, None
    for point, name in mounts:
        prefix = point.rstrip("/") + "/"
        if (path + "/").startswith(prefix) and len(prefix) >= best:
            best, kind = len(prefix), name
    return kind

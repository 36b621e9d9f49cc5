"""The shared memory: its size, what is free, and files in it that no process uses any more."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/dev/shm")  # noqa: S108 - the very folder that NCCL and data workers use
_PROC = Path("/proc")
_PATIENCE_S = 0.5
#: share of the size below which it is worth a look at every process
_LITTLE = 0.25


def size() -> tuple[int | None, int | None]:
    """(size, free) in bytes; a bare folder on another file system is no shared memory."""
    try:
        state = os.statvfs(_ROOT)
    except OSError:
        return None, None
    return state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize


def unowned_bytes(total: int | None, free: int | None, root: Path = _ROOT, proc: Path = _PROC) -> int | None:
    """Size of this user's files that none of this user's processes has open or mapped.

    None where enough is free, and where not every process could be seen in half a second: a file may then be in use.
    """
    if not total or free is None or free >= total * _LITTLE:
        return None
    files = dict(_files(root))
    deadline = time.monotonic() + _PATIENCE_S
    for folder in _processes(proc):
        if time.monotonic() > deadline:
            return None
        if not files:
            break
        for inode in _used(folder, root):
            files.pop(inode, None)
    return sum(files.values())


def _files(root: Path) -> Iterator[tuple[int, int]]:
    """(inode, bytes in use) of regular files of this user, folders below included."""
    for path, _, names in os.walk(root):
        for name in names:
            try:
                state = os.lstat(f"{path}/{name}")
            except OSError:
                continue
            if state.st_uid == os.geteuid() and state.st_blocks:
                yield state.st_ino, state.st_blocks * 512


def _processes(proc: Path) -> Iterator[Path]:
    try:
        with os.scandir(proc) as entries:
            yield from (Path(entry.path) for entry in entries if entry.name.isdecimal())
    except OSError:
        return


def _used(folder: Path, root: Path) -> Iterator[int]:
    """Inodes of files below `root` that a process has mapped or open; proc(5)."""
    try:
        maps = (folder / "maps").read_text("utf-8", "replace")
    except OSError:
        maps = ""
    for line in maps.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith(f"{root}/") and fields[4].isdecimal():
            yield int(fields[4])
    try:
        names = os.listdir(folder / "fd")  # noqa: PTH208 - thousands of them
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"{folder}/fd/{name}")  # noqa: PTH115
            if target.startswith(f"{root}/"):
                yield os.stat(f"{folder}/fd/{name}").st_ino  # noqa: PTH116
        except OSError:
            continue

"""Temporary folders of the doctor, and those that one left behind which was killed.

All lie in one folder of the user's, and each is locked as long as its owner lives: the kernel lets go of a lock
whatever ends a process, whoever gets its number next and in whatever container it ran. Who makes a folder removes
those that nobody holds any more, as far as that takes no time.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
import weakref
from pathlib import Path
from typing import Any, Optional

_FRESH_S = 60.0  # between the making of a folder and its lock there is a moment
_MOST, _TIME_S = 64, 0.01  # folders looked at, and time for what they hold: the next one goes on
_TRIES = 3


class Folder:
    """An empty folder for the time being, as `tempfile.TemporaryDirectory` makes one; `name` is its path."""

    def __init__(self, kind: str = "") -> None:
        """Make it; `kind` is told in its name."""
        self.name, self._lock = _made(f"{kind}-" if kind else "")
        self._finalizer = weakref.finalize(self, _let_go, self.name, self._lock, os.getpid())

    def __enter__(self) -> str:
        """Give its path."""
        return self.name

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self.cleanup()

    def cleanup(self) -> None:
        """Remove it with all that it holds, as far as that can be done."""
        self._finalizer()


def _made(prefix: str) -> tuple[str, Optional[int]]:
    """(path, descriptor that holds its lock); without a lock where there is no folder that is surely the user's."""
    import tempfile  # most commands import this module and make no folder

    for _ in range(_TRIES):
        base = _base()
        if base is None:
            break
        try:
            path = tempfile.mkdtemp(prefix=prefix, dir=base)
        except FileNotFoundError:
            continue  # another doctor has just removed the last folder in it, and it
        lock = _locked(path)
        _sweep(base, path)
        return path, lock
    return tempfile.mkdtemp(prefix=f"doctor-{prefix}"), None


def _base() -> Optional[str]:
    """The folder of this user's, None where somebody else may write into it."""
    if not hasattr(os, "getuid"):
        return None
    import tempfile

    path = str(Path(tempfile.gettempdir()) / f"doctor-{os.geteuid()}")
    try:
        Path(path).mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(path)
    except OSError:
        return None
    own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return path if own and not status.st_mode & 0o077 else None


def _locked(path: str) -> Optional[int]:
    """A descriptor that holds the lock of a folder, None where another one holds it or there are no locks."""
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _let_go(path: str, lock: Optional[int], owner: int) -> None:
    """Remove a folder, and the user's one with the last of them; a process that branched off leaves them alone."""
    if os.getpid() != owner:
        return
    if lock is not None:
        os.close(lock)  # first: a folder that goes while it is open costs the file system milliseconds
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        _remove_empty(os.path.dirname(path))  # noqa: PTH120 - at the end of the interpreter, the less the better


def _sweep(base: str, own: str) -> None:
    """Remove folders whose owner is dead, until the time is over."""
    until = time.monotonic() + _TIME_S
    try:
        with os.scandir(base) as entries:
            for _, entry in zip(range(_MOST), entries):  # noqa: B905 - Python 3.9
                if entry.path != own and time.monotonic() < until and _is_old(entry):
                    _remove_dead(entry.path, until)
    except OSError:
        return


def _is_old(entry: Any) -> bool:
    status = entry.stat(follow_symlinks=False)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and time.time() - status.st_mtime > _FRESH_S


def _remove_dead(path: str, until: float) -> None:
    lock = _locked(path)
    if lock is None:
        return
    try:
        for folder, folders, files in os.walk(path, topdown=False):
            for name in files:
                os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118 - see _let_go
                if time.monotonic() > until:
                    return
            for name in folders:
                inner = os.path.join(folder, name)  # noqa: PTH118
                os.unlink(inner) if os.path.islink(inner) else os.rmdir(inner)  # noqa: PTH106, PTH108, PTH114
        os.rmdir(path)  # noqa: PTH106
    except OSError:
        return
    finally:
        os.close(lock)


def _remove_empty(path: str) -> None:
    try:
        os.rmdir(path)  # noqa: PTH106
    except OSError:
        return

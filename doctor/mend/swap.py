"""Exchanges a file's content for another so that nothing that somebody else saves meanwhile is lost.

Editors take no locks. Where the kernel can exchange two names (`renameat2`, Linux 3.15 and newer,
https://man7.org/linux/man-pages/man2/rename.2.html) the old file is looked at after the exchange: had somebody saved in
between, the names are exchanged back. Elsewhere (some network file systems) the content is compared right before the
rename.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from doctor.base.whole_file import named
from doctor.catalogue.plan import ABSENT, Refused, digest, read_or_none

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_WRITER_S = 2.0  # that an editor may take to write and close a file that it has open


def exchange(one: str, other: str) -> bool:
    """Exchange two names in one step; False where this system or file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def put(temporary: Path, path: Path, expected: str) -> None:
    """Give `path` the file that stands ready as `temporary`, which is gone afterwards.

    Args:
        temporary: in the same folder.
        path: what is replaced.
        expected: sha256 of its content, ABSENT where no file may be there.

    Raises:
        Refused: the file is not what was expected; it stays as it is.
        OSError: it cannot be written.

    """
    if expected == ABSENT:
        _put_new(temporary, path)
        return
    if digest(read_or_none(str(path))) != expected:
        temporary.unlink()
        raise _changed(path)
    ours = digest(temporary.read_bytes())
    if not exchange(str(temporary), str(path)):
        temporary.replace(path)
    elif _is_closed(temporary) and digest(temporary.read_bytes()) == expected:
        temporary.unlink()
    else:
        _give_back(temporary, path, ours)


def _give_back(temporary: Path, path: Path, ours: str) -> None:
    """Somebody saved before the exchange: what they saved goes back, and what they save meanwhile after it.

    Raises:
        Refused: always; the file is what they saved last.

    """
    last = ours
    while True:
        standing = digest(temporary.read_bytes())
        if not exchange(str(temporary), str(path)):
            msg = f"`{path}` was saved meanwhile; what was saved is in `{temporary}`"
            raise Refused(msg)
        if digest(temporary.read_bytes()) == last:
            temporary.unlink()
            raise _changed(path)
        last = standing


def _is_closed(path: Path) -> bool:
    """Whether nobody writes to a file that has lost its name: waits for those who opened it before.

    A lease for reading is granted where no descriptor is open for writing
    (https://man7.org/linux/man-pages/man2/F_GETLEASE.2const.html), to the owner only: others are taken at their word.
    """
    end = time.monotonic() + _WRITER_S
    with path.open("rb") as file:
        while True:
            try:
                fcntl.fcntl(file.fileno(), fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except OSError as exc:
                if exc.errno != errno.EAGAIN:
                    return True
            else:
                fcntl.fcntl(file.fileno(), fcntl.F_SETLEASE, fcntl.F_UNLCK)
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.005)


def _put_new(temporary: Path, path: Path) -> None:
    """A second name for the file is refused where the name is taken; a rename would not be."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        temporary.unlink()
        raise _changed(path) from None
    except OSError:  # a file system without hard links
        if path.exists():
            temporary.unlink()
            raise _changed(path) from None
        temporary.replace(path)
        return
    temporary.unlink()


def write_in_place(path: Path, content: bytes, expected: Iterable[str]) -> None:
    """Write through all names of a file; what a kill leaves is the new content's begin and the old one's rest.

    Raises:
        Refused: its content is none of those expected.
        OSError: it cannot be written.

    """
    with named(path), path.open("r+b") as file:
        if digest(file.read()) not in expected:
            raise _changed(path)
        os.pwrite(file.fileno(), content, 0)
        os.ftruncate(file.fileno(), len(content))
        os.fsync(file.fileno())


def is_torn(content: bytes, before: bytes, after: bytes) -> bool:
    """Whether `content` is what an interrupted `write_in_place` of `after` over `before` leaves."""
    same = next((at for at, (one, other) in enumerate(zip(content, after, strict=False)) if one != other), None)
    written = min(len(content), len(after)) if same is None else same
    return any(content == after[:at] + before[at:] for at in range(written, -1, -1) if content[at:] == before[at:])


@contextmanager
def folders_locked(folders: Iterable[Path]) -> Iterator[None]:
    """Keep other doctors, of any user, from folders; one that cannot be locked (some network ones) is let be.

    Raises:
        Refused: another doctor is at work there.

    """
    with ExitStack() as held:
        for folder in sorted({each.resolve() for each in folders}):
            with suppress(OSError):
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                held.callback(os.close, descriptor)
                _lock(descriptor)
        yield


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        msg = "another `doctor fix` is running; nothing was changed"
        raise Refused(msg) from None


def _changed(path: Path) -> Refused:
    return Refused(f"`{path}` has changed since the plan was created")

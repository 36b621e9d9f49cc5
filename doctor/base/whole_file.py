"""Files that are there whole or not at all: a full disk leaves neither half of a new one nor less of an old one.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LONGEST_NAME = (
    200  # of the 255 bytes that file systems take, https://man7.org/linux/man-pages/man7/path_resolution.7.html
)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Give an error its file's name, which the kernel leaves out where writing fails and opening did not."""
    try:
        yield
    except OSError as exc:
        if exc.filename is None:
            exc.filename = str(path)
        raise


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A place to write to, which takes the name of `path` when the block ends, and is gone where it fails.

    A pipe, a device, a file of several names and one in a folder without write permission are written where they are.

    Args:
        path: of the file; a link stays one.

    Raises:
        OSError: it cannot be written; what stood there is as it was, and the error has the name of `path`.

    """
    target = Path(os.path.realpath(path))
    with named(path):
        if _is_written_in_place(target):
            yield target
            return
        temporary = target.with_name(f".{target.name[:_LONGEST_NAME]}.{os.getpid()}.tmp")
        try:
            yield temporary
            with suppress(FileNotFoundError):
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
        except OSError as exc:
            if exc.filename == str(temporary):
                exc.filename = str(path)
            raise
        finally:
            with suppress(OSError):
                temporary.unlink()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, or leave what is there.

    Raises:
        OSError: it cannot be written; the error has the name of `path`.

    """
    with whole(path) as place:
        place.write_bytes(content.encode() if isinstance(content, str) else content)


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet.

    Raises:
        FileExistsError: it is there, and stays.
        OSError: it cannot be written; nothing is left of it, and the error has the name of `path`.

    """
    with path.open("x", encoding="utf-8") as file:
        try:
            with named(path), file:
                file.write(text)
        except OSError:
            path.unlink()
            raise


def _is_written_in_place(target: Path) -> bool:
    try:
        there = target.stat()
    except OSError:
        return False
    return not stat.S_ISREG(there.st_mode) or there.st_nlink > 1 or not os.access(target.parent, os.W_OK)

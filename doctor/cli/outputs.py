"""Files and folders that a command writes: looked at when its words are read, before any work that could be lost."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import click

_NO_FILE = "it is not a regular file"


class Output(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A path that can be written now, as far as that can be known; a command line that names another is refused.

    What stands there is neither changed nor made. A disk that fills up later is the writer's to tell.

    Args:
        folder: a folder is written, not a file.
        makes_parents: folders above it are made where they are missing.
        renamed: a file takes its place by renaming, which would do away with a pipe or a device.

    """

    name = "path"

    def __init__(self, *, folder: bool = False, makes_parents: bool = False, renamed: bool = False) -> None:
        self._folder = folder
        self._renamed = renamed
        self._makes_parents = makes_parents or folder

    def convert(self, value: Any, _param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path."""
        path = Path(value)
        reason = why_not(path, folder=self._folder, makes_parents=self._makes_parents)
        if reason is None and self._renamed and path.exists() and not path.is_file():
            reason = _NO_FILE
        if reason is not None:
            msg = f"cannot write `{path}`: {reason}"
            raise click.UsageError(msg, ctx)
        return path


def why_not(path: Path, *, folder: bool, makes_parents: bool) -> str | None:
    """Why a path cannot be written, as the system says it; None where it can."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return _why_not_made(path, makes_parents=makes_parents)
    except (OSError, ValueError) as exc:
        return getattr(exc, "strerror", None) or str(exc)
    if stat.S_ISDIR(mode) != folder:
        return os.strerror(errno.ENOTDIR if folder else errno.EISDIR)
    if folder:
        return _why_no_file_in(path)
    return None if not stat.S_ISREG(mode) else _why_not_opened(path)  # a pipe or a device is opened by its writer alone


def _why_not_made(path: Path, *, makes_parents: bool) -> str | None:
    above = path.parent
    if makes_parents:
        above = next(each for each in (above, *above.parents) if os.path.lexists(each) or each == each.parent)
    if not above.exists():
        return os.strerror(errno.ENOENT)
    return _why_no_file_in(above) if above.is_dir() else os.strerror(errno.ENOTDIR)


def _why_no_file_in(folder: Path) -> str | None:
    """Asked by making one without a name: permissions alone tell neither a read-only disk nor what root may not do."""
    try:
        import tempfile

        tempfile.TemporaryFile(dir=folder).close()
    except OSError as exc:
        return exc.strerror
    return None


def _why_not_opened(path: Path) -> str | None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
    except OSError as exc:
        return exc.strerror
    return None

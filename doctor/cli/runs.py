"""What the commands that run another command share: its folder, and what is said about it."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from doctor.run.folder import ROOM, RUNS, RunDir
from doctor.run.starting import become
from doctor.run.supervise import NOT_EXECUTABLE, NOT_FOUND, within

#: link to the latest run, beside it
LAST = "last"

#: how long a launch waits for the disk of its run folder
_DISK_S = 3.0

_ELSEWHERE = {
    "en": "no run folder here ({reason}); it is in {base}",
    "zh": "无法在此处创建运行目录({reason});它位于 {base}",
}


def new_run(name: str, language: str = "en", lay: Callable[[RunDir], object] | None = None) -> RunDir:
    """A new run folder; in the temporary folder where the working directory cannot be written, which is said.

    Args:
        name: of the run.
        language: `en` or `zh`.
        lay: puts into it what the command cannot be started without.

    Raises:
        OSError: nor can that one.

    """
    try:
        return _laid(lambda: RunDir.create(name), lay)
    except OSError as exc:
        base = Path(tempfile.gettempdir()) / RUNS
        click.echo(f"doctor: {_ELSEWHERE[language].format(reason=exc.strerror, base=base)}", err=True)
        return _laid(lambda: RunDir.create(name, base), lay)


def _laid(make: Callable[[], RunDir], lay: Callable[[RunDir], object] | None) -> RunDir:
    """A folder with what has to lie in it; one in which that finds no room is taken away again.

    Raises:
        OSError: it cannot be made, or not filled.

    """
    run = _written(make)
    try:
        if lay is not None:
            lay(run)
    except OSError:
        shutil.rmtree(run.path, ignore_errors=True)
        with suppress(OSError):
            if not (run.path.parent / LAST).exists():
                (run.path.parent / LAST).unlink()
        raise
    return run


def _written(make: Callable[[], RunDir]) -> RunDir:
    """A folder on a disk that answers: a network's may be away, and a launch does not wait for that.

    Raises:
        OSError: it cannot be made, or not in time.

    """
    made: list[RunDir] = []
    failed: list[OSError] = []

    def work() -> None:
        try:
            run = make()
            (run.path / ROOM).touch()
            _point(run.path)
            made.append(run)
        except OSError as exc:
            failed.append(exc)

    within(_DISK_S, work)
    if failed:
        raise failed[0]
    if not made:
        raise TimeoutError(errno.ETIMEDOUT, f"the disk has not answered for {_DISK_S:g} s")
    return made[0]


def _point(path: Path) -> None:
    """Let `last` beside the run lead to it, and git leave the runs alone; neither is worth a run."""
    with suppress(OSError):
        ignored = path.parent / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", "utf-8")
        link = path.parent / LAST
        if link.is_symlink() or not link.exists():
            made = path.parent / f".{LAST}.{os.getpid()}"
            made.symlink_to(path.name)
            made.replace(link)


def last_of(path: Path) -> str:
    """A run folder as a user may type it: by its link where that leads to it."""
    link = path.parent / LAST
    with suppress(OSError):
        if link.resolve() == path.resolve():
            return short(link)
    return short(path)


def no_folder_here() -> str | None:
    """Why the working directory cannot be used (it was removed, its disk has gone); None where it can."""
    try:
        Path.cwd()
    except OSError as exc:
        return exc.strerror or str(exc)
    return None


def bare(words: tuple[str, ...]) -> int:
    """Become the command, so that its signals and its exit code are its own; a code only where it cannot be started."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    try:
        become(words, os.environ)
    except FileNotFoundError:
        return NOT_FOUND
    except OSError:
        return NOT_EXECUTABLE


def short(path: Path) -> str:
    """A path from here where it lies below."""
    with suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)

"""Homes and folders of tests: each new and empty, but for what the doctor keeps in a user's cache, which all share.

A wheel carries the index of the catalogue ready made. In a checkout the first command in a new home would read the
whole catalogue, which takes two seconds, and the tests start hundreds of commands.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

_CACHE = Path(".cache", "grpo-doctor")


def with_cache(home: Path, shared: Path | None = None) -> Path:
    """A folder made a home with the shared cache: that of the test's own home where none is given."""
    own = home / _CACHE
    if not own.is_symlink():
        own.parent.mkdir(parents=True, exist_ok=True)
        own.symlink_to(shared or (Path.home() / _CACHE).resolve())
    return home


def made_once(base: Path, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first worker to ask for it makes, for all workers of a session; the others wait.

    Args:
        base: what the workers share, see `tests.nvml.shared_directory`.
        name: of the folder.
        make: fills it; where that fails or is skipped, the next worker begins anew.

    """
    folder, done = base / name, base / f"{name}.made"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


class Folders:
    """Names of folders that nobody has yet. `mktemp` lists all siblings for each new number: a minute for all tests."""

    def __init__(self, base: Path) -> None:
        """Below this folder."""
        self._base = base
        self._numbers = itertools.count()

    def named(self, test: str) -> Path:
        """The next folder, which is not there yet: begins as the test is called, as pytest's own do."""
        return self._base / f"{re.sub(r'[^A-Za-z0-9_]', '_', test)[:30]}{next(self._numbers)}"


class Homes:
    """The home of each test: that of the one before where it is as it was made, for most tests do not look at it.

    A home is three entries on the disk, which were a fifth of all that ten thousand small tests cost. What a process
    does that a test has left behind nobody sees in time: after a test that may start some, the next home is a new one.
    """

    def __init__(self, base: Path, shared: Path) -> None:
        """Below `base`, with this cache."""
        self._folders, self._shared = Folders(base), shared
        self._last: Path | None = None
        self._new = _seen(with_cache(self._folders.named("home"), shared))

    def next(self, *, starts_processes: bool) -> Path:
        """A home as new for a test."""
        home = self._last
        if home is None or _seen(home) != self._new:
            home = with_cache(self._folders.named("home"), self._shared)
        self._last = None if starts_processes else home
        return home


def _seen(home: Path) -> list[object]:
    """All that there is in a home, with its rights: two lists, where making one changes the disk three times."""
    folders = (home, home / _CACHE.parent)
    try:
        return [*map(os.listdir, folders), *(each.lstat().st_mode for each in folders), (home / _CACHE).readlink()]
    except OSError:
        return []

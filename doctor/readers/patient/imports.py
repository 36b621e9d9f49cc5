"""What files of the doctor import, kept in the user's cache folder: parsing 200 files took most of a run's start."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.catalogue.index import cache_folder

Imports = tuple[list[str], list[str]]

_FILE = "imports-1.json"


class Known:
    """What was read of files before, as long as they have the size and the time that they had.

    A cache that cannot be read holds nothing, and one that cannot be written is not written.
    """

    def __init__(self) -> None:
        self._path = cache_folder() / _FILE
        self._files: dict[str, Any] = {}
        self._new = False
        with suppress(OSError, ValueError, RecursionError):
            data = json.loads(self._path.read_text(encoding="utf-8"))
            self._files = data if isinstance(data, dict) else {}

    def of(self, path: Path, read: Callable[[Path], Imports]) -> Imports:
        """What a file imports, by `read` where it is not known.

        Raises:
            OSError: there is no such file.

        """
        status = os.stat(path)
        stamp, kept = [status.st_mtime_ns, status.st_size], self._files.get(str(path))
        if isinstance(kept, list) and len(kept) == 3 and kept[0] == stamp and _names(kept[1]) and _names(kept[2]):
            return kept[1], kept[2]
        modules, members = read(path)
        self._files[str(path)], self._new = [stamp, modules, members], True
        return modules, members

    def keep(self) -> None:
        """Write what is new; files that have gone are forgotten."""
        if not self._new:
            return
        files = {name: each for name, each in self._files.items() if os.path.isfile(name)}
        part = self._path.with_name(f"{_FILE}.{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(files), encoding="utf-8")
            part.replace(self._path)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)

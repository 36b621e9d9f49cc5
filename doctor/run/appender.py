"""Appends to the files of the run folder. Runs inside the patient too: Python 3.9 and the standard library."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Optional

#: ends a line that a full disk or a killed writer left half-written, so that no reader takes it for a short one
TORN = b"#torn"


class Appender:
    """Appends whole lines to one file, each call one `write`; a full disk costs lines, never an exception.

    Args:
        path: the file; its folder is made.
        anew: what that lies in is made, too; without it a run folder that was removed stays so, and lines are lost.
        head: stands before the first line of a file that holds nothing yet.

    """

    def __init__(self, path: Path, *, anew: bool = True, head: str = "") -> None:
        self.path = path
        self._anew, self._head = anew, head
        self.lost = 0  # lines that could not be written
        self.error: Optional[int] = None  # why the last ones could not, where the system told
        self._file: Optional[int] = None
        self._torn = False

    def write(self, text: str) -> bool:
        """Append `text`, which ends with a line break; whether it lies in the file now."""
        data = text.encode("utf-8", "backslashreplace")
        written = 0
        try:
            if self._file is None:
                self._file = self._open()
            data = self._head.encode() + data
            if self._torn:
                data = TORN + b"\n" + data
            written = os.write(self._file, data)
        except OSError as exc:
            self.error = exc.errno
        if written == len(data):
            self._torn, self._head = False, ""
            return True
        self._torn = self._torn or written > 0
        self.lost += text.count("\n")
        return False

    def _open(self) -> int:
        self.path.parent.mkdir(parents=self._anew, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        size = os.fstat(file).st_size
        self._torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        self._head = "" if size else self._head
        return file

    @property
    def empty(self) -> bool:
        """Whether the file holds nothing yet, so that a header is due."""
        try:
            return self.path.stat().st_size == 0
        except OSError:
            return True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):  # a network's disk may tell a quota, or that it has gone, as late as this
                os.close(self._file)
            self._file = None

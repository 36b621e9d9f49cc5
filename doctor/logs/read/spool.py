"""Reads lines again around a place in a log: from the file itself, or from what was kept of a pipe or packed file.

Of a stream that cannot be read twice the first 32 MiB and the last 96 MiB of its text are kept in a temporary file.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

HEAD_BYTES = 32 << 20
RING_BYTES = 96 << 20
_REACH = 1 << 16  # how far to look for the lines that were asked for


class Spool:
    """Keeps the beginning and the end of a stream on disk; a full disk ends the keeping, not the scan.

    Args:
        folder: where the temporary file lies, None for the system's own place.
        head_bytes, ring_bytes: how much is kept of the beginning and of the end.

    """

    def __init__(
        self, folder: Path | None = None, *, head_bytes: int = HEAD_BYTES, ring_bytes: int = RING_BYTES
    ) -> None:
        self._head, self._ring = head_bytes, ring_bytes
        self._total = self._from = 0
        self._file: int | None = None
        self.full = False
        try:
            self._file, name = tempfile.mkstemp(prefix="doctor-log-", dir=folder)
            Path(name).unlink()  # gone with the process, however that ends
        except OSError:
            self.full = True

    def start_at(self, offset: int) -> None:
        """Keep nothing of what lies before an offset; called before the first `write`."""
        self._total = self._from = offset

    def write(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        start, self._total = self._total, self._total + len(data)
        if self._file is None or self.full:
            return
        try:
            while data:
                place, room = self._place(start)
                os.pwrite(self._file, data[:room], place)
                data, start = data[room:], start + room
        except OSError:
            self.full = True

    def read(self, offset: int, size: int) -> bytes:
        """Bytes that are still kept at an offset of the stream; fewer or none where they are not."""
        if self._file is None or self.full:
            return b""
        parts: list[bytes] = []
        if offset < self._from:
            return b""
        end = min(offset + size, self._total)
        while offset < end:
            if self._head <= offset < self._total - self._ring:
                break
            place, room = self._place(offset)
            part = os.pread(self._file, min(room, end - offset), place)
            if not part:
                break
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    def kept_from(self, offset: int) -> int:
        """The nearest offset at or after this one from which bytes are kept without a gap."""
        offset = max(offset, self._from)
        return offset if offset < self._head else max(offset, self._total - self._ring)

    def _place(self, offset: int) -> tuple[int, int]:
        """(place in the file, bytes up to the end of that region)."""
        if offset < self._head:
            return offset, self._head - offset
        at = (offset - self._head) % self._ring
        return self._head + at, self._ring - at

    def close(self) -> None:
        """Free the disk space."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Around:
    """Lines around a place in a stream that was scanned.

    Args:
        source: a plain UTF-8 file, or the spool of any other stream.

    """

    def __init__(self, source: Path | Spool) -> None:
        self._source = source

    def read(self, offset: int, size: int) -> bytes:
        """Raw bytes; empty where nothing is kept.

        Raises:
            OSError: the file cannot be read any more.

        """
        if isinstance(self._source, Spool):
            return self._source.read(offset, size)
        with self._source.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def lines(self, offset: int, before: int = 0, after: int = 0) -> list[tuple[int, bytes]]:
        """(offset, line without its end) of the line at an offset and its neighbours, within 64 KiB to each side."""
        start = max(0, offset - _REACH)
        if isinstance(self._source, Spool):
            start = self._source.kept_from(start)
            if start > offset:
                return []
        data = self.read(start, offset - start + _REACH)
        if not data:
            return []
        lines = _split(data, start)
        at = max((number for number, (place, _) in enumerate(lines) if place <= offset), default=0)
        return lines[max(0, at - before) : at + after + 1]


def _split(data: bytes, start: int) -> list[tuple[int, bytes]]:
    """Lines with their offsets; a carriage return that stands alone ends a line too."""
    lines: list[tuple[int, bytes]] = []
    for line in data.splitlines(keepends=True):  # of bytes: at \n, \r and \r\n only
        lines.append((start, line.rstrip(b"\r\n")))
        start += len(line)
    return lines

"""Opens what a log is stored in and gives its text as UTF-8: plain, .gz, .zst, .xz, a pipe, in several encodings.

Nothing is read that is no log: devices, sockets and folders are refused, a named pipe is read only when asked for.
"""

from __future__ import annotations

import itertools
import os
import select
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from doctor.logs.read.encodings import transcode
from doctor.logs.read.inflate import CHUNK, Limits, UnpackError, inflate, kind_of
from doctor.logs.read.spool import Around, Spool

STDIN = "-"
_PULSE_MS = 500  # how late a Ctrl-C may be that came in the moment before a read


class Readable(Protocol):
    """What the bytes of a log come from."""

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes, none at the end."""
        ...

    def close(self) -> None:
        """Free it."""
        ...


class Pipe:
    """A pipe that may stay silent for ever without holding back a Ctrl-C.

    A buffered file reads again inside its C code as long as something is missing, and a signal that comes between two
    such reads waits until the writer writes again: Python sees signals between its own instructions only
    (https://docs.python.org/3/library/signal.html#execution-of-python-signal-handlers). So each read is one system
    call, made when there is something to read.

    Args:
        file: unbuffered, or standard input as a test replaced it.
        ours: we opened it, and close it.

    """

    def __init__(self, file: BinaryIO, *, ours: bool) -> None:
        self._file, self._ours = file, ours
        self._poll = select.poll() if hasattr(select, "poll") else None
        try:
            if self._poll is not None:
                self._poll.register(file, select.POLLIN)
        except OSError:  # a file in memory
            self._poll = None

    def read(self, size: int, /) -> bytes:
        """What is there, up to so many bytes; none at the end."""
        while self._poll is not None and not self._poll.poll(_PULSE_MS):
            pass
        return self._file.read(size)

    def close(self) -> None:
        """Close what was opened here."""
        if self._ours:
            self._file.close()


class StreamError(Exception):
    """A log cannot be opened; says why in words for the user."""


class Stream(AbstractContextManager["Stream"]):
    """The text of one log, portion by portion, once.

    Args:
        name: as the user knows it.
        chunks: UTF-8 portions.
        path: the file when its own bytes are the text, so that it can be read again at any offset.
        offset: where in the text the first portion starts.

    Attributes:
        compression: "gz", "zst", "xz" or "".
        encoding: what it was written in: "utf-8", "utf-16-le", "utf-16-be", "gbk"; known after the first portions.
        notes: sentences on what could not be read.

    """

    def __init__(self, name: str, chunks: Iterable[bytes], *, path: Path | None = None, offset: int = 0) -> None:
        self.name = name
        self.path = path
        self.offset = offset
        self.compression = ""
        self.encoding = "utf-8"
        self.notes: list[str] = []
        self.spool: Spool | None = None
        self._chunks: Iterator[bytes] = iter(chunks)
        self._file: Readable | None = None
        self._given = offset

    def __iter__(self) -> Iterator[bytes]:
        """Give the text in portions and close the file; what cannot be read ends it with a note."""
        while True:
            try:
                chunk = next(self._chunks, None)
            except UnpackError as error:
                self.close()
                raise StreamError(f"{self.name}: {error}") from None
            except OSError as error:
                self.note(f"reading stopped: {error.strerror or error}")
                chunk = None
            if chunk is None:
                self.close()
                return
            if self.spool is not None:
                self.spool.write(chunk)
            self._given += len(chunk)
            yield chunk

    def note(self, reason: str) -> None:
        """Take down why not everything is read."""
        self.notes.append(f"{self.name}: {reason}")

    def _in_another_encoding(self, encoding: str, spool: Spool | None) -> None:
        """From here on the text is not what the file holds."""
        self.encoding = encoding
        self.path = None
        if self.spool is None and spool is not None:
            spool.start_at(self._given)
            self.spool = spool

    @property
    def cut_off(self) -> str:
        """Why the log was not read to its end; "" when it was."""
        return "; ".join(self.notes)

    @property
    def around(self) -> Around | None:
        """Reads lines again; None for a stream of which nothing was kept."""
        if self.path is not None and self.encoding == "utf-8":
            return Around(self.path)
        return Around(self.spool) if self.spool is not None else None

    def close(self) -> None:
        """Close the file; the spool stays."""
        if self._file is not None:
            self._file.close()

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()


def open_stream(
    path: str | os.PathLike[str],
    *,
    explicit: bool = True,
    start: int = 0,
    end: int | None = None,
    spool: Spool | None = None,
) -> Stream:
    """Open a log; by its content, whatever its name.

    Args:
        path: a file, or "-" for standard input.
        explicit: the user named this very path: then it may be a named pipe.
        start: where to begin in a plain file; a line must begin there.
        end: where to stop, None at the end that the file has now.
        spool: keeps what cannot be read twice; not used for plain UTF-8 files.

    Raises:
        StreamError: there is nothing that can be read; says why.

    """
    name = os.fspath(path)
    file, size = _open(name, explicit=explicit)
    limit = (size if end is None else end) - start if size is not None else None
    if start and not isinstance(file, Pipe):
        file.seek(start)
    first, rest = _peek(file, limit)
    kind = kind_of(first) if start == 0 else ""
    stream = Stream(
        "standard input" if name == STDIN else name, (), path=None if kind or size is None else Path(name), offset=start
    )
    stream._file = file  # noqa: SLF001 - this function is its constructor
    stream.compression = kind
    chunks: Iterator[bytes] = itertools.chain((first,), rest)
    if kind:
        chunks = inflate(kind, _Rejoined(chunks), Limits(), stream.note)  # type: ignore[arg-type]

    def told(encoding: str) -> None:
        stream._in_another_encoding(encoding, spool)  # noqa: SLF001

    marked = start == 0 and not kind and first.startswith(b"\xef\xbb\xbf")
    if marked:
        stream.path = None  # offsets are three bytes less
    stream._chunks = transcode(chunks, told) if start == 0 else chunks  # noqa: SLF001
    if stream.path is None:
        stream.spool = spool
    return stream


def _open(name: str, *, explicit: bool) -> tuple[BinaryIO | Pipe, int | None]:
    """(file, its size); the size is None for what can be read only once."""
    if name == STDIN:
        return Pipe(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), ours=False), None
    try:
        mode = Path(name).stat().st_mode
        if stat.S_ISFIFO(mode) and explicit:
            return Pipe(Path(name).open("rb", buffering=0), ours=True), None
        if reason := _refused(mode):
            raise StreamError(f"`{name}` {reason}")
        # Without blocking: what was a file a moment ago may be a pipe now.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise StreamError(f"`{name}` does not exist") from None
    except OSError as error:
        raise StreamError(f"`{name}` cannot be read: {error.strerror or error}") from None
    file = os.fdopen(descriptor, "rb", buffering=0)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        file.close()
        raise StreamError(f"`{name}` {_refused(status.st_mode) or 'is a named pipe'}")
    # Files of /proc have no size; of a file that grows, what was there at the start is read.
    return file, status.st_size or None


def _refused(mode: int) -> str:
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISDIR(mode):
        return "is a folder"
    if stat.S_ISFIFO(mode):
        return "is a named pipe; name it itself to have it read"
    return "is a device or a socket, not a log"


def _peek(file: Readable, limit: int | None) -> tuple[bytes, Iterator[bytes]]:
    chunks = _read(file, limit)
    return next(chunks, b""), chunks


def _read(file: Readable, limit: int | None) -> Iterator[bytes]:
    """Portions of 64 KiB, filled up: a writer that dribbles must not cost a search per byte."""
    while limit is None or limit > 0:
        want = CHUNK if limit is None else min(CHUNK, limit)
        data = file.read(want)
        if data and len(data) < want:
            data = _filled(file, data, want)
        if not data:
            return
        if limit is not None:
            limit -= len(data)
        yield data


def _filled(file: Readable, data: bytes, want: int) -> bytes:
    parts, missing = [data], want - len(data)
    while missing and (more := file.read(missing)):
        parts.append(more)
        missing -= len(more)
    return b"".join(parts)


class _Rejoined:
    """Portions as a file that gives what is asked for or the end."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    def read(self, size: int) -> bytes:
        if not self._left:
            self._left = next(self._chunks, b"")
        data, self._left = self._left[:size], self._left[size:]
        return data

"""Unpacks .gz, .zst and .xz as streams: memory stays flat, a bomb is cut off, a torn end costs only what is missing."""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Callable, Generator
from typing import Any, BinaryIO

MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ\x00": "xz"}
CHUNK = 1 << 16
# Logs shrink 10 to 20 times, one warning printed a million times some 200 times, a bomb 1000 times (the most that
# deflate can do) and more.
MOST_RATIO = 250
RATIO_COUNTS_FROM_BYTES = 256 << 20  # some seconds of reading; a whole log that shrinks that much says one thing
MOST_BYTES = 64 << 30
MOST_MEMORY_BYTES = 256 << 20  # of the xz dictionary, whose size the file itself demands


Portions = Generator[bytes, None, None]


class UnpackError(Exception):
    """The file cannot be unpacked here; says what is missing."""


def kind_of(first: bytes) -> str:
    """What a file is packed with ("gz", "zst", "xz", or ""); by content, for names lie and pipes have none."""
    return next((name for magic, name in MAGIC.items() if first.startswith(magic)), "")


class Limits:
    """Says when unpacking has gone far enough."""

    def __init__(self, *, ratio: float = MOST_RATIO, counts_from: int = RATIO_COUNTS_FROM_BYTES) -> None:
        self._ratio, self._counts_from = ratio, counts_from
        self.packed_bytes = 0
        self.unpacked_bytes = 0

    def reached(self) -> str:
        """Why to stop, "" to go on."""
        if self.unpacked_bytes > MOST_BYTES:
            return f"it unpacks to more than {MOST_BYTES >> 30} GiB; the rest was not read"
        if self.unpacked_bytes > self._counts_from and self.unpacked_bytes > self._ratio * self.packed_bytes:
            done = self.unpacked_bytes / (1 << 30)
            return f"it unpacks to more than {self._ratio:.0f} times its size; read up to {done:.1f} GiB"
        return ""


def inflate(kind: str, source: BinaryIO, limits: Limits, told: Callable[[str], None]) -> Portions:
    """Unpacked portions of at most 64 KiB.

    Args:
        kind: "gz", "zst" or "xz".
        source: packed bytes; must give what is asked for or the end.
        limits: where to stop.
        told: is called with a sentence when not everything could be read.

    Raises:
        UnpackError: nothing here can read this kind.

    """
    counted = _Counted(source, limits)
    portions = {"gz": _gz, "xz": _xz, "zst": _zst}[kind](counted, told)
    for portion in portions:
        limits.unpacked_bytes += len(portion)
        yield portion
        if reason := limits.reached():
            told(reason)
            portions.close()
            return


class _Counted(io.RawIOBase):
    """Counts what is taken from the packed file."""

    def __init__(self, source: BinaryIO, limits: Limits) -> None:
        super().__init__()
        self._source, self._limits = source, limits

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._limits.packed_bytes += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _gz(source: _Counted, told: Callable[[str], None]) -> Portions:
    library: Any = zlib
    with contextlib.suppress(ImportError):
        from isal import isal_zlib as library  # type: ignore[import-not-found,no-redef,unused-ignore]  # thrice as fast
    error: Any = (zlib.error, library.error)
    data = source.read(CHUNK)
    while data:
        decoder = library.decompressobj(31)  # 31: with a gzip header, the largest window
        while not decoder.eof:
            if not data and not (data := source.read(CHUNK)):
                told(_TORN)
                return
            try:
                portion = decoder.decompress(data, CHUNK)
            except error:
                told(_BROKEN)
                return
            data = decoder.unconsumed_tail
            if portion:
                yield portion
        data = (decoder.unused_data or source.read(CHUNK)).lstrip(b"\0") or source.read(CHUNK)
        if data and not data.startswith(b"\x1f\x8b") and len(data) > 1:
            told(_BROKEN)
            return


def _members(
    source: _Counted, fresh: Callable[[], Any], errors: tuple[type[Exception], ...], told: Callable[[str], None]
) -> Portions:
    """Decoders that share the standard library's interface of lzma and compression.zstd."""
    data = source.read(CHUNK)
    while data:
        decoder = fresh()
        while not decoder.eof:
            if decoder.needs_input and not data and not (data := source.read(CHUNK)):
                told(_TORN)
                return
            try:
                portion = decoder.decompress(data, CHUNK)
            except errors:
                told(_BROKEN)
                return
            data = b""
            if portion:
                yield portion
        data = (decoder.unused_data or source.read(CHUNK)).lstrip(b"\0") or source.read(CHUNK)


def _xz(source: _Counted, told: Callable[[str], None]) -> Portions:
    try:
        import lzma
    except ImportError:
        message = "this Python was built without lzma: unpack the .xz file first (xz -dk FILE)"
        raise UnpackError(message) from None

    def fresh() -> Any:
        return lzma.LZMADecompressor(memlimit=MOST_MEMORY_BYTES)

    yield from _members(source, fresh, (lzma.LZMAError, MemoryError), told)


def _zst(source: _Counted, told: Callable[[str], None]) -> Portions:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14
    except ImportError:
        pass
    else:
        yield from _members(source, zstd.ZstdDecompressor, (zstd.ZstdError,), told)
        return
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        yield from _zst_program(source, told)
        return
    packed: Any = source
    reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    while True:
        try:
            portion = reader.read(CHUNK)
        except zstandard.ZstdError:
            told(_BROKEN)
            return
        if not portion:
            return
        yield portion


def _zst_program(source: _Counted, told: Callable[[str], None]) -> Portions:
    import shutil
    import subprocess
    import threading

    program = shutil.which("zstd")
    if program is None:
        message = "reading .zst needs the package `zstandard`, Python 3.14 or the program `zstd`"
        raise UnpackError(message)
    child = subprocess.Popen(
        [program, "-dcq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdin is not None  # noqa: S101  # for the type checker: both are pipes
    assert child.stdout is not None  # noqa: S101
    feeder = threading.Thread(target=_feed, args=(source, child.stdin), daemon=True)
    feeder.start()
    try:
        while portion := child.stdout.read(CHUNK):
            yield portion
        feeder.join()
        if child.wait() != 0:
            told(_BROKEN)
    finally:
        child.kill()
        child.stdout.close()
        child.wait()
        feeder.join()


def _feed(source: _Counted, sink: Any) -> None:
    try:
        while data := source.read(CHUNK):
            sink.write(data)
        sink.close()
    except (OSError, ValueError):  # the child went away: it says why by its exit status
        return


_TORN = "the compressed data ends in the middle: the last lines are missing"
_BROKEN = "the compressed data is damaged: what follows the damage was not read"

"""Takes the members out of a .tar, compressed or not, in one pass from its beginning."""

from __future__ import annotations

import bz2
import io
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

from doctor.logs.read.inflate import CHUNK, Limits, UnpackError, inflate, kind_of
from doctor.logs.read.unpacked import MOST_RATIO, RATIO_FROM_BYTES, Taken

_MOST_HEADER_BYTES = 1 << 20  # of a tar's long names and its other headers, each of which is read at once


def unpack_tar(path: str, taken: Taken) -> None:
    """Take all regular files.

    Raises:
        Refused: it is beyond the limits.

    """
    with Path(path).open("rb") as file:
        portions = _portions(file, taken)
        with tarfile.open(fileobj=_Portions(portions), mode="r|", tarinfo=_Member) as archive:
            for member in archive:
                taken.see()
                if member.isreg():
                    taken.take(member.name, _content(archive, member))


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    """A member's bytes up to where the archive breaks off; `extractfile` gives none of a portion that is not whole."""
    source = archive.extractfile(member) if member.issparse() else None
    if source is not None:
        yield from iter(partial(source.read, CHUNK), b"")
        return
    stream: Any = archive.fileobj  # there for every archive that is open
    stream.seek(member.offset_data)
    left = member.size
    while left:
        data = stream.read(min(left, CHUNK))
        if not data:
            raise EOFError("it ends in the middle of a file")
        yield data
        left -= len(data)


class _Member(tarfile.TarInfo):
    """A member whose long name and other headers are not read where they are no names.

    Only blocks of zeros end an archive: `tarfile` takes a header that is torn or damaged for the end as well.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: Any, errors: str) -> _Member:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if bytes(buf).strip(b"\0") or len(buf) < tarfile.BLOCKSIZE:
                raise UnpackError(f"{error}") from None
            raise

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc,unused-ignore]
        return member


_HEADERS = (
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
)  # fmt: skip


def _portions(file: BinaryIO, taken: Taken) -> Iterator[bytes]:
    """The bytes of a tar, unpacked as they are wanted."""
    first = file.read(8)
    file.seek(0)
    if kind := kind_of(first):
        limits = Limits(ratio=MOST_RATIO, counts_from=RATIO_FROM_BYTES)
        return inflate(kind, file, limits, lambda said: taken.notes.append(f"{taken.path}: {said}"))
    packed: IO[bytes] = bz2.BZ2File(file) if first.startswith(b"BZh") else file
    return iter(lambda: packed.read(CHUNK), b"")


class _Portions(io.RawIOBase):
    """Portions as a file for `tarfile`, which asks for so and so many bytes."""

    def __init__(self, portions: Iterator[bytes]) -> None:
        super().__init__()
        self._portions, self._left = portions, bytearray()

    def read(self, size: int = -1) -> bytes:
        """As many bytes as are asked for, or all that are left."""
        while len(self._left) < size and (portion := next(self._portions, b"")):
            self._left += portion
        data = bytes(self._left[:size])
        del self._left[:size]
        return data

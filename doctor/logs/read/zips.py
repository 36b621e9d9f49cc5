"""Takes the members out of a .zip."""

from __future__ import annotations

import os
import stat
import zipfile
from functools import partial
from pathlib import Path

from doctor.logs.read.inflate import CHUNK
from doctor.logs.read.unpacked import BROKEN, ArchiveRefused, Taken, how

_MOST_DIRECTORY_BYTES = 8 << 20  # of a zip's table of contents, which is read at once and takes 15 times that
#: "end of central directory", and where in it the size of that directory stands
#: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (4.3.16)
_END_OF_ZIP, _SIZE_AT, _ENDS_WITHIN = b"PK\x05\x06", 12, 1 << 17
#: the same of a zip of more than 4 GiB (4.3.14)
_END_OF_ZIP64, _SIZE64_AT = b"PK\x06\x06", 40


def unpack_zip(path: str, taken: Taken) -> None:
    """Take all members.

    Raises:
        ArchiveRefused: it is protected, or beyond the limits.

    """
    _refuse_long_directory(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            taken.see()
            if member.is_dir() or stat.S_ISLNK(member.external_attr >> 16):
                continue
            if member.flag_bits & 1:
                raise ArchiveRefused(f"`{path}` is protected by a password; {how(path)}")
            try:
                with archive.open(member) as source:
                    taken.take(member.filename, iter(partial(source.read, CHUNK), b""))
            except BROKEN as error:
                taken.notes.append(f"{path}: {member.filename[:200]!r} cannot be unpacked ({str(error)[:120]})")


def _refuse_long_directory(path: str) -> None:
    with Path(path).open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _ENDS_WITHIN))
        end = file.read()
    at = end.rfind(_END_OF_ZIP)
    size = int.from_bytes(end[at + _SIZE_AT : at + _SIZE_AT + 4], "little") if at >= 0 else 0
    if (at := end.rfind(_END_OF_ZIP64)) >= 0:
        size = max(size, int.from_bytes(end[at + _SIZE64_AT : at + _SIZE64_AT + 8], "little"))
    if size > _MOST_DIRECTORY_BYTES:
        raise ArchiveRefused(f"`{path}` has more members than are read; {how(path)}")

"""Databases of hyperscan, kept ready made in the user's cache folder: making one takes longer than reading a small log.

Hyperscan itself refuses what was cut off or changed (a checksum), made by another release of it, or made for another
kind of processor (https://intel.github.io/hyperscan/dev-reference/serialization.html). A file that somebody else may
have written is not looked at.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from doctor import __version__
from doctor.base.whole_file import write_whole
from doctor.catalogue.index import cache_folder

#: of fewer literals a database is made at once
_WORTH = 100
_OTHERS_KEPT = 8  # several environments and kinds of processor share a home
#: of a beginning, for its length takes two bytes
_LONGEST = (1 << 16) - 1
_CHECKSUM_BYTES = 4
_CPU = "/proc/cpuinfo"
_PEEK_BYTES = 8192


def database(literals: Sequence[bytes], cut: Callable[[bytes], bytes]) -> tuple[list[bytes], Any]:
    """Beginnings of literals, and a database that finds them in blocks, each by its place among the different ones.

    Args:
        literals: what is wanted.
        cut: gives the beginning of one; not asked where the cache tells.

    Raises:
        ImportError: hyperscan is not installed.

    """
    import hyperscan

    path = _folder() / f"{_key(literals, str(vars(hyperscan).get('__version__')))}.hsdb"
    data = _read(path) if len(literals) >= _WORTH else None
    if data is not None:
        lengths, checksum, made = _parts(data, len(literals))
        try:
            found: Any = hyperscan.loadb(made, hyperscan.HS_MODE_BLOCK)
            found.scratch = hyperscan.Scratch(found)
        except hyperscan.error:
            checksum = b""
        if checksum == _checksum(lengths):
            return [literal[:length] for literal, length in zip(literals, array("H", lengths), strict=True)], found
    beginnings = [cut(each)[:_LONGEST] for each in literals]
    found = _made(list(dict.fromkeys(beginnings)))
    if len(literals) >= _WORTH:
        lengths = array("H", map(len, beginnings)).tobytes()
        _keep(path, lengths + _checksum(lengths) + hyperscan.dumpb(found))
    return beginnings, found


def _parts(data: bytes, count: int) -> tuple[bytes, bytes, bytes]:
    """Lengths of the beginnings, two bytes each, their checksum, and the database."""
    end = 2 * count
    return data[:end], data[end : end + _CHECKSUM_BYTES], data[end + _CHECKSUM_BYTES :]


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "little")


def _made(expressions: Sequence[bytes]) -> Any:
    import hyperscan

    made: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    count = len(expressions)
    made.compile(
        expressions=list(expressions), ids=list(range(count)), elements=count, flags=[0] * count, literal=True
    )  # fmt: skip
    return made


def _folder() -> Path:
    return cache_folder() / "engines"


def _key(expressions: Sequence[bytes], release: str) -> str:
    """Changes with anything that the database is made of."""
    hashed = hashlib.blake2b(f"{__version__} {release} {len(expressions)}".encode() + _features(), digest_size=16)
    hashed.update(b"".join(b"%d:%b" % (len(each), each) for each in expressions))
    return hashed.hexdigest()


def _features() -> bytes:
    """What the processor can do, as Linux tells it."""
    try:
        with open(_CPU, "rb") as file:  # noqa: PTH123 - half the cost of a Path, at every start
            text = file.read(_PEEK_BYTES)
    except OSError:
        return b""
    return b"".join(line for line in text.splitlines() if line.startswith((b"flags", b"Features")))[:_PEEK_BYTES]


def _is_own(status: os.stat_result) -> bool:
    """Whether only this user can have written it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path) -> bytes | None:
    try:
        if not _is_own(path.parent.stat()):
            return None
        with path.open("rb") as file:
            return file.read() if _is_own(os.fstat(file.fileno())) else None
    except OSError:
        return None


def _keep(path: Path, data: bytes) -> None:
    """Write it for next time, by rename; a read-only home costs only the making."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_own(path.parent.stat()):
            return
        others = sorted(path.parent.glob("*.hsdb"), key=lambda each: each.stat().st_mtime)
        for old in others[:-_OTHERS_KEPT]:
            old.unlink()
        write_whole(path, data)
    except OSError:
        return

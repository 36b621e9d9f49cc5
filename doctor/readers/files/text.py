"""Reads a user's file as text without ever hanging on it or swallowing something huge."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile
from doctor.readers.files import inputs

#: no configuration file of the stack comes near it, and the pure Python parsers need about 2 s for as much
LIMIT_BYTES = 1 << 20


def read_text(path: str, limit_bytes: int = LIMIT_BYTES) -> str | BrokenFile:
    """Text of a regular UTF-8 file, or why there is none; at most `limit_bytes`, and no pipe or device."""
    try:
        content = _read_bytes(path, limit_bytes)
    except OSError as exc:
        return BrokenFile(Place(path), _reason(exc))
    if isinstance(content, str):
        return BrokenFile(Place(path), content)
    return _decode(path, content)


def _read_bytes(path: str, limit_bytes: int) -> bytes | str:
    """Content of the file, or in words why it is not read."""
    if "\0" in path:
        return "its name holds a NUL character"
    if (supposed := inputs.supposed(path)) is not None:
        return supposed
    refused = _refused(Path(path).stat(), limit_bytes)  # asked first: opening a device may act
    if refused:
        return refused
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        refused = _refused(os.fstat(descriptor), limit_bytes)
        content = b"" if refused else file.read(limit_bytes + 1)[:limit_bytes]
    if not refused:
        inputs.note(path, content)
    return refused or content


def _refused(state: os.stat_result, limit_bytes: int) -> str | None:
    if stat.S_ISDIR(state.st_mode):
        return "it is a directory"
    if not stat.S_ISREG(state.st_mode):
        return "it is not a regular file"
    if state.st_size > limit_bytes:
        return f"it has {state.st_size / 1e6:.1f} MB, too much for a configuration file, and was not read"
    return None


def _reason(exc: OSError) -> str:
    known = {
        errno.ENOENT: "it does not exist",
        errno.ENOTDIR: "it does not exist",
        errno.EACCES: "this user may not read it",
        errno.EPERM: "this user may not read it",
        errno.ELOOP: "its symbolic links form a loop",
        errno.ENAMETOOLONG: "its name is too long for the file system",
        errno.ESTALE: "its network file system does not answer",
    }
    return known.get(exc.errno or 0, f"the system cannot read it ({os.strerror(exc.errno or 0)})")


def _decode(path: str, content: bytes) -> str | BrokenFile:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return BrokenFile(Place(path, 1, 1), "it is in UTF-16, and UTF-8 is expected")
    nul = content.find(b"\0")
    if nul >= 0:
        return BrokenFile(Place(path, content.count(b"\n", 0, nul) + 1, None), "it holds binary data")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        before = content[content.rfind(b"\n", 0, exc.start) + 1 : exc.start].decode("utf-8", "replace")
        return BrokenFile(Place(path, line, len(before) + 1), f"byte 0x{content[exc.start]:02x} is not UTF-8")

"""Opens archives of log folders, as Slurm sites and GitHub hand them out: .zip, .tar and compressed .tar.

What is in them is laid out in a folder of our own, under names that cannot leave it, and read as any folder. Nothing is
followed, nothing is set executable, no archive inside is opened. Limits hold for the number of members, for what they
unpack to and for what that takes of the disk; an archive beyond them is refused in words that say how to unpack it.
"""

from __future__ import annotations

import bz2
import io
import os
import re
import shlex
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, BinaryIO

from doctor.core.scratch import Folder
from doctor.logs.inflate import CHUNK, Limits, UnpackError, inflate, kind_of
from doctor.logs.layouts import ARCHIVES

_MOST_MEMBERS = 50_000
MOST_BYTES = 8 << 30
#: of the free space of the disk for temporary files
_MOST_OF_DISK = 0.5
#: logs shrink 10 to 20 times, see `doctor.logs.inflate`
_MOST_RATIO, _RATIO_FROM_BYTES = 250, 256 << 20
_MOST_DIRECTORY_BYTES = 64 << 20  # of a zip's table of contents, which is read at once
_DEEPEST, _LONGEST_NAME = 12, 150
#: weights, pictures and programs, which no reader of logs opens
_NO_LOGS = (
    ".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".npy", ".npz", ".pkl", ".pickle", ".so", ".whl", ".png", ".jpg",
    ".jpeg", ".gif", ".mp4", ".pdf", ".onnx", ".gguf", ".tfevents", ".zip", ".tar", ".tgz",
)  # fmt: skip
#: "end of central directory", and where in it the size of that directory stands
#: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (4.3.16)
_END_OF_ZIP, _SIZE_AT, _ENDS_WITHIN = b"PK\x05\x06", 12, 1 << 17
_BAD = re.compile(r"[\x00-\x1f\x7f:]")
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, OSError, ValueError, UnpackError)


class Refused(Exception):  # noqa: N818 - the user's archive is at fault, the message says what to do
    """An archive is not opened; says why, and how to unpack it."""


class Opened:
    """Folders that stand for archives, removed with this object.

    Args:
        paths: what was given.

    Attributes:
        paths: the same with the folders in place of the archives.
        names: (folder, the archive that it stands for).
        notes: sentences on what could not be unpacked.

    Raises:
        Refused: an archive is beyond the limits, protected or damaged from the beginning.

    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths: list[str] = []
        self.names: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self._folders: list[Folder] = []
        for path in paths:
            self.paths.append(self._unpacked(path) if is_archive(path) else path)

    def _unpacked(self, path: str) -> str:
        self._folders.append(Folder("logs"))
        folder = os.path.realpath(self._folders[-1].name)
        taken = _Taken(path, Path(folder))
        try:
            _unpack(path, taken)
        except _BROKEN as error:
            if not taken.count:
                msg = f"`{path}` cannot be unpacked ({str(error)[:200] or type(error).__name__}); {_how(path)}"
                raise Refused(msg) from None
            taken.notes.append(f"{path}: the archive is damaged or cut off; what came before was read")
        if not taken.count:
            msg = f"`{path}` holds no file that could be a log"
            raise Refused(msg)
        self.names.append((folder, path))
        self.notes += taken.notes
        return folder


def is_archive(path: str) -> bool:
    """Whether a file is one, by its name and its first bytes."""
    if not path.lower().endswith(ARCHIVES) or not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            first = file.read(512)
    except OSError:
        return False
    return (
        first.startswith((b"PK\x03\x04", b"PK\x05\x06", b"BZh")) or bool(kind_of(first)) or first[257:262] == b"ustar"
    )


class _Taken:
    """What was taken out of an archive so far, and the limits."""

    def __init__(self, path: str, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.count = self.seen = 0
        self.notes: list[str] = []
        self._bytes = 0
        self._packed = max(Path(path).stat().st_size, 1)
        self._room = min(MOST_BYTES, int(shutil.disk_usage(folder).free * _MOST_OF_DISK))

    def see(self) -> None:
        """Count a member, whatever it is."""
        self.seen += 1
        if self.seen > _MOST_MEMBERS:
            raise Refused(f"`{self.path}` has more than {_MOST_MEMBERS:,} members; {_how(self.path)}")

    def take(self, name: str, source: IO[bytes]) -> None:
        """Copy a member to where its name says."""
        target = self._place(name)
        if target is None:
            return
        with target.open("xb") as file:
            self.count += 1
            while data := source.read(CHUNK):
                self._bytes += len(data)
                self._check()
                file.write(data)

    def _check(self) -> None:
        if self._bytes > self._room:
            size = f"{self._room / (1 << 30):.1f} GiB"
            raise Refused(f"`{self.path}` unpacks to more than the {size} that there is room for; {_how(self.path)}")
        if self._bytes > _RATIO_FROM_BYTES and self._bytes > _MOST_RATIO * self._packed:
            raise Refused(f"`{self.path}` unpacks to more than {_MOST_RATIO} times its size; {_how(self.path)}")

    def _place(self, name: str) -> Path | None:
        """A new file below the folder; None for what is no log, or has no name."""
        parts = [_BAD.sub("_", each)[:_LONGEST_NAME] for each in name.replace("\\", "/").split("/")]
        parts = [each for each in parts if each not in ("", ".", "..")][-_DEEPEST:]
        if not parts or parts[-1].lower().endswith(_NO_LOGS) or parts[0] == "__MACOSX":
            return None
        target = self.folder.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):  # a file of the name of a folder
            return None
        number = 1
        while target.exists():
            number += 1
            target = target.with_name(f"{number}~{parts[-1]}")
        return target


def _unpack(path: str, taken: _Taken) -> None:
    if zipfile.is_zipfile(path) and path.lower().endswith(".zip"):
        _unpack_zip(path, taken)
    else:
        _unpack_tar(path, taken)


def _unpack_zip(path: str, taken: _Taken) -> None:
    _refuse_long_directory(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            taken.see()
            if member.is_dir() or stat.S_ISLNK(member.external_attr >> 16):
                continue
            if member.flag_bits & 1:
                raise Refused(f"`{path}` is protected by a password; {_how(path)}")
            try:
                with archive.open(member) as source:
                    taken.take(member.filename, source)
            except (NotImplementedError, *_BROKEN) as error:
                taken.notes.append(f"{path}: {member.filename[:200]!r} cannot be unpacked ({str(error)[:120]})")


def _refuse_long_directory(path: str) -> None:
    with Path(path).open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _ENDS_WITHIN))
        end = file.read()
    at = end.rfind(_END_OF_ZIP)
    size = int.from_bytes(end[at + _SIZE_AT : at + _SIZE_AT + 4], "little") if at >= 0 else 0
    if size > _MOST_DIRECTORY_BYTES:
        raise Refused(f"`{path}` has more members than are read; {_how(path)}")


def _unpack_tar(path: str, taken: _Taken) -> None:
    with Path(path).open("rb") as file:
        portions = _portions(file, taken)
        with tarfile.open(fileobj=_Portions(portions), mode="r|") as archive:
            for member in archive:
                taken.see()
                source = archive.extractfile(member) if member.isreg() else None
                if source is not None:
                    taken.take(member.name, source)


def _portions(file: BinaryIO, taken: _Taken) -> Iterator[bytes]:
    """The bytes of a tar, unpacked as they are wanted."""
    first = file.read(8)
    file.seek(0)
    if kind := kind_of(first):
        limits = Limits(ratio=_MOST_RATIO, counts_from=_RATIO_FROM_BYTES)
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


def _how(path: str) -> str:
    """What to type instead."""
    name = shlex.quote(path)
    if path.lower().endswith(".zip"):
        return f"unpack it (`unzip {name} -d logs`) and give the folder, or the logs in it that matter"
    return f"unpack it (`mkdir logs; tar -xf {name} -C logs`) and give the folder, or the logs in it that matter"

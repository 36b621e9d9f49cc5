"""Opens archives of log folders, as Slurm sites and GitHub hand them out: .zip, .tar and compressed .tar.

What is in them is laid out in a folder of our own, under names that cannot leave it, and read as any folder. Nothing is
followed, nothing is set executable, no archive inside is opened. Limits hold for the number of members, for what they
unpack to and for what that takes of the disk; an archive beyond them is refused in words that say how to unpack it.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

from doctor.base.scratch import Folder
from doctor.logs.read.inflate import kind_of
from doctor.logs.read.layouts import ARCHIVES
from doctor.logs.read.tars import unpack_tar
from doctor.logs.read.unpacked import BROKEN, ArchiveRefused, Taken, how
from doctor.logs.read.zips import unpack_zip

__all__ = ["ArchiveRefused", "Opened", "is_archive"]


class Opened:
    """Folders that stand for archives, removed with this object.

    Args:
        paths: what was given.

    Attributes:
        paths: the same with the folders in place of the archives.
        names: (folder, the archive that it stands for).
        notes: sentences on what could not be unpacked.

    Raises:
        ArchiveRefused: an archive is beyond the limits, protected or damaged from the beginning.

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
        taken = Taken(path, Path(folder))
        try:
            _unpack(path, taken)
        except BROKEN as error:
            if not taken.count:
                msg = f"`{path}` cannot be unpacked ({str(error)[:200] or type(error).__name__}); {how(path)}"
                raise ArchiveRefused(msg) from None
            taken.notes.append(f"{path}: the archive is damaged or cut off; what came before was read")
        if not taken.count:
            msg = f"`{path}` holds no file that could be a log"
            raise ArchiveRefused(msg)
        self.names.append((folder, path))
        self.notes += taken.told()
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


def _unpack(path: str, taken: Taken) -> None:
    if zipfile.is_zipfile(path) and path.lower().endswith(".zip"):
        unpack_zip(path, taken)
    else:
        unpack_tar(path, taken)

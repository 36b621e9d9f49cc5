"""What is taken out of an archive: laid out in a folder of our own, under names that cannot leave it, within limits."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from doctor.base.patterns import later
from doctor.logs.read.inflate import UnpackError

_MOST_MEMBERS = 50_000
MOST_BYTES = 8 << 30
#: of the free space of the disk for temporary files
_MOST_OF_DISK = 0.5
#: logs shrink 10 to 20 times, see `doctor.logs.read.inflate`
MOST_RATIO, RATIO_FROM_BYTES = 250, 256 << 20
_DEEPEST, _LONGEST_NAME = 12, 150
_MOST_OF_A_NAME = 100  # members of one name: each is a log of its own, and costs as much
#: weights, pictures and programs, which no reader of logs opens
_NO_LOGS = (
    ".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".npy", ".npz", ".pkl", ".pickle", ".so", ".whl", ".png", ".jpg",
    ".jpeg", ".gif", ".mp4", ".pdf", ".onnx", ".gguf", ".tfevents", ".zip", ".tar", ".tgz",
)  # fmt: skip
_BAD = later(r"[\x00-\x1f\x7f:]")
#: what reading a damaged archive raises; of a zip of a later version NotImplementedError, of names of names of a tar
#: RecursionError
BROKEN: tuple[type[BaseException], ...] = (
    zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, OSError, ValueError, UnpackError, NotImplementedError,
    RecursionError, LookupError, struct.error, OverflowError, AssertionError,
)  # fmt: skip


with contextlib.suppress(ImportError):  # a Python may be built without it
    import lzma

    BROKEN = (*BROKEN, lzma.LZMAError)


class ArchiveRefused(Exception):  # noqa: N818 - the user's archive is at fault, the message says what to do
    """An archive is not opened; says why, and how to unpack it."""


class Taken:
    """What was taken out of an archive so far, and the limits."""

    def __init__(self, path: str, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.count = self.seen = 0
        self.notes: list[str] = []
        self._bytes = 0
        self._numbers: dict[Path, int] = {}
        self.replaced: dict[Path, int] = {}
        self._packed = max(Path(path).stat().st_size, 1)
        self._room = min(MOST_BYTES, int(shutil.disk_usage(folder).free * _MOST_OF_DISK))

    def see(self) -> None:
        """Count a member, whatever it is."""
        self.seen += 1
        if self.seen > _MOST_MEMBERS:
            raise ArchiveRefused(f"`{self.path}` has more than {_MOST_MEMBERS:,} members; {how(self.path)}")

    def take(self, name: str, content: Iterable[bytes]) -> None:
        """Write a member to where its name says; one that breaks off is kept as far as it goes."""
        target = self._place(name)
        if target is None:
            return
        with target.open("xb") as file:
            for number, data in enumerate(content):
                self.count += number == 0  # an empty file is nothing to read
                self._bytes += len(data)
                self._check()
                file.write(data)

    def _check(self) -> None:
        if self._bytes > self._room:
            size = f"{self._room / (1 << 30):.1f} GiB"
            raise ArchiveRefused(
                f"`{self.path}` unpacks to more than the {size} that there is room for; {how(self.path)}"
            )
        if self._bytes > RATIO_FROM_BYTES and self._bytes > MOST_RATIO * self._packed:
            raise ArchiveRefused(f"`{self.path}` unpacks to more than {MOST_RATIO} times its size; {how(self.path)}")

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
        wanted = target
        while target.exists():
            number = self._numbers[wanted] = self._numbers.get(wanted, 1) + 1
            if number > _MOST_OF_A_NAME:  # the last one counts, as where the archive is unpacked
                self.replaced[wanted] = number - _MOST_OF_A_NAME
                target = wanted.with_name(f"{_MOST_OF_A_NAME}~{parts[-1]}")
                target.unlink(missing_ok=True)
                break
            target = wanted.with_name(f"{number}~{parts[-1]}")
        return target

    def told(self) -> list[str]:
        """Sentences on what was not taken."""
        of_a_name = (
            f"{self.path}: {each.name[:_LONGEST_NAME]!r} is in it {count + _MOST_OF_A_NAME:,} times; the first"
            f" {_MOST_OF_A_NAME - 1} and the last were read"
            for each, count in self.replaced.items()
        )
        return [*self.notes, *of_a_name]


def how(path: str) -> str:
    """What to type instead."""
    name = shlex.quote(path)
    if path.lower().endswith(".zip"):
        return f"unpack it (`unzip {name} -d logs`) and give the folder, or the logs in it that matter"
    return f"unpack it (`mkdir logs; tar -xf {name} -C logs`) and give the folder, or the logs in it that matter"

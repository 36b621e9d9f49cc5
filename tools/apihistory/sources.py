"""The Python files of one release, taken out of the smallest archive that the index offers for it, kept as a zip."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version
from versiondata.index import File, Index

from apihistory.packages import Library

#: folders inside a package that no other code imports
_SKIPPED = re.compile(r"/(tests?|_?vendor(ed)?|third_?party|examples|benchmarks)/")
_LARGEST_BYTES = 150_000_000


class SourceStore:
    """Zips of `package/module.py` by library and version below a folder; `index` is asked for those that are absent."""

    def __init__(self, folder: Path, index: Index) -> None:
        self._folder = folder
        self._index = index

    def versions(self, library: Library) -> list[Version]:
        """Releases that the index has and that are to be read."""
        return library.chosen(self._index.versions(library.name, library.since))

    def path(self, library: Library, version: Version) -> Path:
        """Where the zip of a release lies; it is made by `fetch`."""
        return self._folder / library.name / f"{version}.zip"

    def fetch(self, library: Library, version: Version) -> Path | None:
        """Zip of a release's sources; None where no archive is small enough to be read."""
        path = self.path(library, version)
        if not path.exists():
            file = self._smallest(library, version)
            if file is None:
                return None
            content = self._index.content(file)
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, library.package, content, wheel=file.is_wheel)
        return path

    def _smallest(self, library: Library, version: Version) -> File | None:
        files = [each for each in self._index.files(library.name) if each.version == version]
        candidates = [each for each in files if _fits(each.name)]
        candidates = [each for each in candidates if each.name.endswith("-any.whl")] or candidates
        sized = [(self._index.size_bytes(each), each.name, each) for each in candidates]
        readable = [each for each in sized if each[0] is not None and each[0] <= _LARGEST_BYTES]
        return min(readable)[2] if readable else None


def _fits(name: str) -> bool:
    if not name.endswith(".whl"):
        return True
    return name.endswith("-any.whl") or ("linux" in name and "x86_64" in name)


def _write(path: Path, package: str, content: bytes, *, wheel: bool) -> None:
    members = list(_of_wheel(content) if wheel else _of_sdist(content))
    root = _root(package, [name for name, _ in members])
    partial = path.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in members if root is not None else ():
            inner = name[len(root or "") :]
            if name.startswith(f"{root}{package}/") and not _SKIPPED.search(f"/{inner}"):
                made.writestr(inner, text)
    partial.rename(path)


def _root(package: str, names: list[str]) -> str | None:
    """Folder of an archive that holds the package: "", "trl-0.9/", "vllm-0.5/python/"; None when none does."""
    found = [name for name in names if f"/{name}".endswith(f"/{package}/__init__.py")]
    found = found or [name for name in names if f"/{package}/" in f"/{name}"]  # a package without an __init__.py
    places = {f"/{name}".partition(f"/{package}/")[0] for name in found}
    shortest = min(places, key=lambda each: each.count("/"), default=None)
    return None if shortest is None else f"{shortest}/".lstrip("/")


def _of_wheel(content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        for name in opened.namelist():
            if name.endswith(".py"):
                yield name, opened.read(name)


def _of_sdist(content: bytes) -> Iterator[tuple[str, bytes]]:
    if content[:2] == b"PK":
        yield from _of_wheel(content)
        return
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        for member in opened:
            if member.isfile() and member.name.endswith(".py"):
                handle = opened.extractfile(member)
                if handle is not None:
                    yield member.name, handle.read()

"""Reading the shipped JSON files: lazily, one file at a time, each at most once in a process.

Not public: the accessors in :mod:`doctor.data` are. The shapes of the files are described in
``tools/versiondata/shapes.md``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from doctor.base.ranges import order

SCHEMA = "doctor-data/1"
_HERE = Path(__file__).parent


class VersionStanding(Enum):
    """Where a version stands relative to what the shipped data know of its package."""

    KNOWN = "known"  # its facts are in the data (exactly, or after dropping a local part or a post release)
    NEWER = "newer"  # later than every release in the data: judge nothing from them, say that they are old
    OLDER = "older"  # earlier than every release in the data
    BETWEEN = "between"  # inside the covered span but no release of it: a development build, a yanked or private one
    UNREADABLE = "unreadable"  # not a version at all
    NO_PACKAGE = "no-package"  # the data know nothing of this package


class Versions:
    """An ordered list of known versions of one package and the rule by which another spelling is found in it."""

    def __init__(self, listed: Sequence[str]) -> None:
        self.listed = tuple(listed)
        self._positions = {version: index for index, version in enumerate(self.listed)}

    def position(self, listed_version: str) -> int:
        """Index of a version that is listed, spelled as listed."""
        return self._positions[listed_version]

    def find(self, version: str) -> int | None:
        """Index of ``version``, or None when it is not a listed release."""
        for spelling in spellings(version):
            if spelling in self._positions:
                return self._positions[spelling]
        return self._find_equal(version)

    def _find_equal(self, version: str) -> int | None:
        """2.14 and 2.14.0 are one version: compare by value where the spelling differs."""
        for spelling in spellings(version):
            try:
                found = next((at for at, known in enumerate(self.listed) if order(spelling, known) == 0), None)
            except ValueError:
                return None
            if found is not None:
                return found
        return None

    def standing(self, version: str) -> VersionStanding:
        """How ``version`` relates to the listed ones."""
        if not self.listed:
            return VersionStanding.NO_PACKAGE
        if self.find(version) is not None:
            return VersionStanding.KNOWN
        try:
            if order(version, self.listed[-1]) > 0:
                return VersionStanding.NEWER
            return VersionStanding.OLDER if order(version, self.listed[0]) < 0 else VersionStanding.BETWEEN
        except ValueError:
            return VersionStanding.UNREADABLE


def spellings(version: str) -> tuple[str, ...]:
    """Spellings under which a version may be listed, nearest first.

    ``0.33.0+cu129`` is the release 0.33.0 built for another CUDA, ``v1.2.0`` is a tag's spelling, and a post release
    carries the facts of its release unless it is listed itself. Development and pre-releases have no such neighbour:
    they stay as they are.
    """
    text = version.strip()
    if text[:1] in ("v", "V"):
        text = text[1:]
    public = text.split("+", 1)[0]
    found = [text] if text == public else [text, public]
    head, separator, tail = public.rpartition(".post")
    if separator and tail.isdigit():
        found.append(head)
    return tuple(found)


@cache
def load(name: str) -> dict[str, Any]:
    """The parsed content of ``<name>.json``, header included.

    Raises ValueError when the file is of another schema, OSError when it is absent (both: a broken installation).
    """
    content: dict[str, Any] = json.loads((_HERE / f"{name}.json").read_text(encoding="utf-8"))
    if content.get("schema") != SCHEMA:
        raise ValueError(f"doctor/data/{name}.json has schema {content.get('schema')!r}, expected {SCHEMA!r}")
    return content


def value_at(column: Sequence[Sequence[Any]], versions: Versions, index: int) -> Any:
    """The value that a run-length encoded column ``[[since, value], ...]`` has at a position, None before its first
    entry.
    """
    value: Any = None
    for since, changed in column:
        if versions.position(since) > index:
            break
        value = changed
    return value


@cache
def table(name: str) -> tuple[Versions, dict[str, Any]]:
    """The versions and the columns of a file that describes one package release by release."""
    content = load(name)
    return Versions(content["versions"]), content["columns"]


def row(name: str, version: str) -> tuple[str, dict[str, Any]] | None:
    """Listed spelling and column values of one release in a per-release file, or None when it lists no such release."""
    versions, columns = table(name)
    index = versions.find(version)
    if index is None:
        return None
    return versions.listed[index], {field: value_at(column, versions, index) for field, column in columns.items()}

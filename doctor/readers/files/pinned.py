"""Versions that a project's files pin exactly: lock files, requirements, pyproject, conda's environment, Dockerfile.

They stand for an environment that is not here. What is not pinned to one version is not known.
https://packaging.python.org/en/latest/specifications/dependency-specifiers/,
https://pip.pypa.io/en/stable/reference/requirements-file-format/, https://docs.astral.sh/uv/concepts/projects/layout/,
https://python-poetry.org/docs/dependency-specification/,
https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.facts.packages import normalised
from doctor.readers.files.settings import read_text

_MOST_FILES = 8
_EXACT = later(r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*={2,3}\s*v?(\d[\w.+!-]*)(?!\S*\*)")
_INCLUDES = later(r"^\s*(?:-r|--requirement)[ =]?\s*(\S+)")
_LOCKED = later(r'^name = "([^"]+)"$')
_VERSION = later(r'^version = "([^"]+)"$')
_POETRY = later(r'^([A-Za-z0-9][\w.-]*)\s*=\s*(?:"|\{[^}]*version\s*=\s*")=?=?(\d[\w.+!-]*)"')
_SECTION = later(r"^\[([^\]]+)\]")
_CONDA = later(r"^\s*-\s*['\"]?(?:[\w-]+::)?([a-z0-9][\w.-]*)={1,2}(\d[\w.+]*)(?:=\S+)?['\"]?\s*$")
_INSTALLS = later(r"\b(?:uv\s+)?(?:pip3?|conda|mamba)\s+install\b")
_CONDA_NAMES = {"pytorch": "torch", "pytorch-cpu": "torch", "pytorch-gpu": "torch"}


@record
class Pin:
    """One version, and where it is written."""

    version: str
    place: Place


def pins_of(folder: Path, script: str | None = None) -> Mapping[str, Pin]:
    """Pins by distribution; a lock file counts before requirements, those before what an image installs.

    Args:
        folder: in which the command runs.
        script: that the command starts; the files of its project are those beside or above it, where `folder` has none.

    """
    found: dict[str, Pin] = {}
    for root in _roots(folder, script):
        for path, read in list(_files(root))[:_MOST_FILES]:
            for name, version, line in read(path):
                found.setdefault(normalised(name), Pin(version, Place(path, line)))
        if found:
            break
    return found


def _roots(folder: Path, script: str | None) -> Iterator[Path]:
    yield folder
    beside = (folder / script).parent if script else folder
    for each in (beside, *beside.parents[:2]):
        if each != folder and (folder in each.parents or each in folder.parents or each == beside):
            yield each


def _files(root: Path) -> Iterator[tuple[str, Callable[[str], Iterator[tuple[str, str, int]]]]]:
    try:
        names = sorted(each.name for each in root.iterdir())
    except OSError:
        return
    readers: tuple[tuple[str, Callable[[str], Iterator[tuple[str, str, int]]]], ...] = (
        (r"uv\.lock|poetry\.lock|pylock[\w.]*\.toml", _lock), (r"requirements[\w.-]*\.(?:txt|in|lock)", _requirements),
        (r"pyproject\.toml", _pyproject), (r"environment[\w.-]*\.ya?ml", _environment),
        (r"Dockerfile[\w.-]*|[\w.-]+\.[dD]ockerfile", _image),
    )  # fmt: skip
    for pattern, read in readers:
        yield from ((str(root / name), read) for name in names if re.fullmatch(pattern, name))


def _lines(path: str) -> list[str]:
    text = read_text(path)
    return [] if isinstance(text, BrokenFile) else text.splitlines()


def _lock(path: str) -> Iterator[tuple[str, str, int]]:
    """`[[package]]` tables; of a package that is locked in several versions nothing is known."""
    found: dict[str, tuple[str, int]] = {}
    several: set[str] = set()
    name = ""
    for number, line in enumerate(_lines(path), 1):
        if match := _LOCKED.match(line):
            name = match[1]
        elif name and (match := _VERSION.match(line)):
            several |= {name} if found.get(name, (match[1], 0))[0] != match[1] else set()
            found[name] = match[1], number
            name = ""
    yield from ((each, *place) for each, place in found.items() if each not in several)


def _requirements(path: str, *, nested: bool = False) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(_lines(path), 1):
        written = line.partition(" #")[0].strip()
        if written.startswith("#"):
            continue
        if (match := _INCLUDES.match(written)) and not nested:
            yield from _requirements(str(Path(path).parent / match[1]), nested=True)
        elif (match := _EXACT.match(written)) and ";" not in written:
            yield match[1], match[2], number


def _pyproject(path: str) -> Iterator[tuple[str, str, int]]:
    """Strings of `[project]`'s lists, and tables of Poetry."""
    section = ""
    for number, line in enumerate(_lines(path), 1):
        if match := _SECTION.match(line.strip()):
            section = match[1]
        elif section.startswith("tool.poetry") and "dependencies" in section:
            if match := _POETRY.match(line.strip()):
                yield match[1], match[2], number
        elif section.startswith(("project", "dependency-groups")):
            for quoted in re.findall(r'["\']([^"\']+)["\']', line):
                match = _EXACT.match(quoted)
                if match and ";" not in quoted:
                    yield match[1], match[2], number


def _environment(path: str) -> Iterator[tuple[str, str, int]]:
    """Conda's packages by their Python names, and those of its `pip:` list."""
    for number, line in enumerate(_lines(path), 1):
        if match := _CONDA.match(line):
            yield _CONDA_NAMES.get(match[1], match[1]), match[2], number


def _image(path: str) -> Iterator[tuple[str, str, int]]:
    """What the commands of a Dockerfile install."""
    installs = False
    for number, line in enumerate(_lines(path), 1):
        installs = installs or _INSTALLS.search(line) is not None
        if installs and not line.lstrip().startswith("#"):
            yield from ((match[1], match[2], number) for match in _EXACT.finditer(line))
        installs = installs and line.rstrip().endswith("\\")

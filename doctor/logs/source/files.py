"""Finds the files that a traceback names, and makes sure that they are the ones that ran.

A file counts where the line that the traceback quotes stands in it, and where the release beside it is the one that the
log tells. A log that comes from elsewhere is looked up in the examined environment, where the release must be told.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.logs.failures.frames import Frame

_LARGEST = 2_000_000  # bytes; generated files are larger
_INSTALLED = later(r"[\\/](?:site|dist)-packages[\\/]")
_METADATA = later(r"(?P<name>[\w.]+)-(?P<version>[\w.+!]+)\.(?:dist|egg)-info")


@record
class RunSource:
    """A file that ran, with its syntax tree; `name` as a person calls it: "train.py", "trl/trainer/grpo_config.py"."""

    name: str
    text: str
    tree: ast.Module


def source_of(frame: Frame, versions: Mapping[str, str]) -> RunSource | None:
    """The file of a frame, None where it is not at hand or may be another one.

    Args:
        frame: with the line of code that the traceback quotes.
        versions: distribution -> release, as far as the log tells.

    """
    if not frame.line or not frame.code.strip():
        return None
    inside = _INSTALLED.split(frame.path)[-1] if _INSTALLED.search(frame.path) else ""
    for path in _places(frame.path, inside):
        read = _read(str(path))
        if read is not None and _quotes(read[0], frame) and _agrees(path, inside, versions, frame.path):
            return RunSource(inside.replace("\\", "/") or Path(frame.path).name, *read)
    return None


def _places(path: str, inside: str) -> Iterator[Path]:
    """Where the file may lie: there, or in the environment that is active here."""
    if Path(path).is_absolute():
        yield Path(path)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX") if inside else ():
        prefix = os.environ.get(variable)
        yield from (each / inside for each in sorted(Path(prefix).glob("lib/python3*/site-packages"))) if prefix else ()


@lru_cache(maxsize=64)
def _read(path: str) -> tuple[str, ast.Module] | None:
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        text = file.read_text(encoding="utf-8")
        return text, ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _quotes(text: str, frame: Frame) -> bool:
    """Whether the line that the traceback quotes stands in a file where it says."""
    lines = text.splitlines()
    return frame.line <= len(lines) and lines[frame.line - 1].strip() == frame.code.strip()


def _agrees(path: Path, inside: str, versions: Mapping[str, str], told: str) -> bool:
    """Whether the release beside a file is the one that ran; what nobody tells must at least be the very file."""
    if not inside:
        return True
    package = re.split(r"[\\/]", inside)[0].lower()
    root = next((each for each in path.parents if each.name in ("site-packages", "dist-packages")), path.parent)
    known = {_plain(name): version for name, version in versions.items()}
    here = [match for each in root.glob("*-info") if (match := _METADATA.fullmatch(each.name))]
    release = next((match["version"] for match in here if _plain(match["name"]) == _plain(package)), None)
    wanted = known.get(_plain(package))
    if wanted is None:
        return str(path) == told
    return release is None or release.partition("+")[0] == wanted.partition("+")[0]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()

"""A `doctor` of the program's own: a rehearsal needs that name in the program's processes, and does without it then."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

_NAME = "doctor"
_MOST = 200  # entries of a folder that are looked at


def name_taken(argv: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Path | None:
    """Where a module or package of that name lies that the program would find before any other.

    Args:
        argv: words of the command.
        folder: in which it starts.
        environ: its variables.

    Returns:
        Its file or folder; None where there is none, and for the doctor itself.

    """
    for each in _looked_in(argv, folder, environ):
        with suppress(OSError):
            if (module := each / f"{_NAME}.py").is_file():
                return module
            if (package := each / _NAME).is_dir() and _is_another(package):
                return package
    return None


def _looked_in(argv: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Folders that Python puts in front of its path: the script's, or the working folder for `-m` and `-c`."""
    scripts = [folder / word for word in argv if word.endswith(".py")]
    yield from (each.parent for each in scripts if each.is_file())
    if not scripts or "-m" in argv or "-c" in argv:
        yield folder
    yield from (folder / each for each in environ.get("PYTHONPATH", "").split(os.pathsep) if each)


def _is_another(package: Path) -> bool:
    """Whether a folder holds code that is not the doctor's."""
    if (package / "monitors" / "inject" / "attach.py").is_file():
        return False
    return any(each.suffix == ".py" for each in islice(package.glob("*"), _MOST)) or any(
        islice(package.glob("*/*.py"), 1)
    )

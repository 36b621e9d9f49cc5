"""The folders that an agent may name paths in: whatever leads outside them, by `..` or by a link, is refused."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from doctor.base.redact import redact_text

#: entries of a folder that are looked at for links that lead out
_MOST_ENTRIES = 50_000
#: what the doctor reads by itself on every machine, whatever paths an agent names
_MACHINE = ("/proc/", "/sys/")


class OutsideError(ValueError):
    """A path that may not be named; the message says which one, and how to allow it."""


class Roots:
    """Folders that paths are confined to.

    A path is looked at when it is named: a link that is made afterwards, while the doctor reads, is not seen.

    Args:
        folders: existing folders; the first is where commands run.

    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(each.resolve(strict=True) for each in folders))
        self.first = self.folders[0]

    def path(self, named: str) -> Path:
        """The path with its links resolved.

        Raises:
            OutsideError: it leads out, or does not exist.

        """
        if not named.strip() or "\0" in named:
            msg = "an empty path was given"
            raise OutsideError(msg)
        try:
            resolved = (self.first / named).resolve(strict=True)
        except (OSError, RuntimeError):
            raise OutsideError(self._not_here(named)) from None
        if not self.holds(resolved):
            raise OutsideError(self._leads_out(named))
        return resolved

    def tree(self, named: str) -> Path:
        """A file, or a folder in which no link leads out.

        Raises:
            OutsideError: as `path`, or a link in the folder leads out, or it has too many entries to be looked through.

        """
        top = self.path(named)
        for number, each in enumerate(_entries(top)):
            if number >= _MOST_ENTRIES:
                msg = f"`{named}` has more than {_MOST_ENTRIES:,} entries; name the logs in it"
                raise OutsideError(msg)
            if each.is_symlink() and not self.holds(Path(os.path.realpath(each))):
                raise OutsideError(self._leads_out(str(each)))
        return top

    def words(self, command: str) -> tuple[str, ...]:
        """A launch command as words, none of which names a file or folder outside.

        A program on PATH, and an interpreter that lies inside although it is a link (as in a virtual environment), may
        be named.

        Raises:
            OutsideError: a word leads out, or the command cannot be split.

        """
        try:
            words = tuple(shlex.split(command))
        except ValueError as exc:
            msg = f"the launch command cannot be split into words: {exc}"
            raise OutsideError(msg) from None
        for word in words:
            for part in {word, word.partition("=")[2]} - {""}:
                self._word(part)
        return words

    def program(self, named: str) -> str:
        """An interpreter or an environment's folder, which may be started: inside by its own name, or on PATH.

        Raises:
            OutsideError: it is neither.

        """
        path = Path(os.path.normpath(self.first / Path(named).expanduser()))
        if self._is_program(path) or (path.is_dir() and self.holds(path.resolve())):
            return str(path)
        if os.sep not in named and any((Path(folder) / named).is_file() for folder in _search_path()):
            return named
        raise OutsideError(self._leads_out(named) if os.path.lexists(path) else self._not_here(named))

    def holds(self, resolved: Path) -> bool:
        """Whether a resolved path lies in one of the folders."""
        return any(resolved == each or each in resolved.parents for each in self.folders)

    def shows(self, source: str) -> bool:
        """Whether what a source of evidence says may be quoted: no text of a file that lies outside."""
        if not source.startswith(("/", "~")) or source.startswith(_MACHINE):
            return True
        return any(
            source == top or source.startswith(f"{top}/")
            for each in self.folders
            for top in (str(each), redact_text(str(each)))
        )

    def _word(self, word: str) -> None:
        path = Path(os.path.normpath(self.first / Path(word).expanduser()))
        try:
            if not path.exists() or self.holds(path.resolve()):
                return
        except (OSError, RuntimeError, ValueError):
            return
        if not self._is_program(path):
            raise OutsideError(self._leads_out(word))

    def _is_program(self, path: Path) -> bool:
        """Whether a path is that of a program which lies inside by its own name, or on PATH."""
        if not (path.is_file() and os.access(path, os.X_OK)):
            return False
        folder = path.parent
        return self.holds(folder.resolve()) or str(folder) in _search_path()

    def _leads_out(self, named: str) -> str:
        tops = ", ".join(f"`{each}`" for each in self.folders)
        return redact_text(f"`{named}` leads outside {tops}; start the server with `--root DIR` to allow a folder")

    def _not_here(self, named: str) -> str:
        return redact_text(f"`{named}` does not exist below `{self.first}`")


def _search_path() -> tuple[str, ...]:
    return tuple(each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute())


def _entries(top: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(top):
        yield from _each(Path(folder), (*folders, *files))


def _each(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    return (folder / name for name in names)

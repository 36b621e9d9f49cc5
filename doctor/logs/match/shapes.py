"""Finds literals with the standard library alone, by remembering the shapes of lines that hold none.

Logs repeat themselves but for their numbers. With every digit set to 0 most lines were seen before; what is left is
searched. This is sound: a line that holds a literal holds its masked form once masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MASK = bytes.maketrans(b"123456789\r", b"000000000\n")
_LONGEST_SHAPE = 1024  # longer lines are model text, which never comes again
_MOST_BYTES = 48 << 20  # of shapes kept; then the collection starts anew


class ShapeCache:
    """Tells which literals a line holds, and remembers the masked lines that hold none."""

    name = "shapes"

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = tuple(literals)
        self._masked = tuple(dict.fromkeys(each.translate(_MASK) for each in literals))
        self._clean: set[bytes] = set()
        self._clean_bytes = 0

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """Tell which literals lines of a block hold."""
        lines = data.translate(_MASK).split(b"\n")
        fresh = [line for line in dict.fromkeys(lines) if line not in self._clean]
        if not fresh:
            return []
        dirty = self._dirty(fresh)
        self._remember(each for each in fresh if each not in dirty)
        if not dirty:
            return []
        found: list[tuple[int, int]] = []
        at = 0
        for line in lines:
            if line in dirty:
                found += self._in_line(data[at : at + len(line)], at)
            at += len(line) + 1
        return found

    def _dirty(self, fresh: list[bytes]) -> set[bytes]:
        """Masked lines that hold a masked literal; one search for each literal over all of them together."""
        text = b"\n".join(fresh)
        dirty: set[bytes] = set()
        for literal in self._masked:
            at = text.find(literal)
            while at >= 0:
                start = text.rfind(b"\n", 0, at) + 1
                end = text.find(b"\n", at)
                end = len(text) if end < 0 else end
                dirty.add(text[start:end])
                at = text.find(literal, end)
        return dirty

    def _remember(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if len(line) > _LONGEST_SHAPE:
                continue
            self._clean_bytes += len(line) + 64
            if self._clean_bytes > _MOST_BYTES:
                self._clean.clear()
                self._clean_bytes = len(line) + 64
            self._clean.add(line)

    def _in_line(self, line: bytes, start: int) -> list[tuple[int, int]]:
        places = ((number, line.find(literal)) for number, literal in enumerate(self._literals))
        return [(number, start + at + len(self._literals[number]) - 1) for number, at in places if at >= 0]

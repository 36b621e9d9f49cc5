"""Which releases speak for a range: those on both sides of each of its bounds, its first and its last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version


@dataclass(frozen=True)
class Point:
    """A release to be read, and whether the range holds it."""

    version: Version
    inside: bool


def points(specifier: str, versions: Sequence[Version], *, every: bool = False) -> list[Point]:
    """Releases to be tried for a PEP 440 range, oldest first; `every`: all of them instead of those at the bounds.

    A range that the index has no release of gives an empty list: there is nothing to be right about.
    """
    wanted = SpecifierSet(specifier)
    placed = [Point(each, wanted.contains(each)) for each in sorted(versions)]
    inside = [index for index, each in enumerate(placed) if each.inside]
    if every or not inside:
        return placed if inside else []
    turns = {index for index in range(1, len(placed)) if placed[index].inside != placed[index - 1].inside}
    chosen = {inside[0], inside[-1], *turns, *(index - 1 for index in turns)}
    return [placed[index] for index in sorted(chosen)]

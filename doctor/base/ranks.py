"""Ranks as a reader takes them in: a few one by one, thousands as ranges.

Keeps to Python 3.9 and the standard library, as every module that a problem's file imports.
"""

from __future__ import annotations

from collections.abc import Iterable

#: so many are named one by one, and so many ranges are told
_FEW, _MOST_RANGES = 8, 8


def ranks_text(ranks: Iterable[int]) -> str:
    """``0, 1, 2`` of a few, ``0-65, 67-9999`` of many, ``0, 2, 4 … (+4997)`` where they form no ranges."""
    numbers = sorted(set(ranks))
    if len(numbers) <= _FEW:
        return ", ".join(map(str, numbers))
    ranges = _ranges(numbers)
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges[:_MOST_RANGES])
    left = sum(last - first + 1 for first, last in ranges[_MOST_RANGES:])
    return f"{shown} … (+{left})" if left else shown


def ranks_named(ranks: Iterable[int]) -> str:
    """For an English sentence: ``rank 3``, ``ranks 0, 2``, ``ranks 0-65, 67-9999``."""
    numbers = set(ranks)
    return f"rank{'s' * (len(numbers) != 1)} {ranks_text(numbers)}"


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """First and last number of each run without a gap."""
    ranges: list[tuple[int, int]] = []
    for each in numbers:
        if ranges and each == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], each)
        else:
            ranges.append((each, each))
    return ranges

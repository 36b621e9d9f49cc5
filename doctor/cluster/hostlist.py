"""Slurm's short notation for many hosts, expanded: `node[01-03,07],login` (https://slurm.schedmd.com/scontrol.html)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

#: more than any cluster has; a broken text must not fill the memory
_MOST = 100_000
_PARTS = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def expanded(text: str) -> tuple[str, ...]:
    """Names of the hosts, in order; () of a text that is no such list."""
    try:
        return tuple(itertools.islice((name for word in _words(text) for name in _names(word)), _MOST))
    except ValueError:
        return ()


def _words(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    return [word for word in re.split(r",(?![^\[]*\])", text.strip()) if word]


def _names(word: str) -> Iterator[str]:
    """All names of one word: fixed texts and lists of numbers take turns, the last list runs fastest."""
    pieces = _PARTS.split(word)
    choices = [[piece] if at % 2 == 0 else _numbers(piece) for at, piece in enumerate(pieces)]
    return ("".join(each) for each in itertools.product(*choices))


def _numbers(text: str) -> list[str]:
    """Numbers of "01-03,07", as wide as the first of each range is written.

    Raises:
        ValueError: it is no such list.

    """
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(text)
        first, last = match[1], match[2] or match[1]
        if len(found) + int(last) - int(first) >= _MOST:
            raise ValueError(text)
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found

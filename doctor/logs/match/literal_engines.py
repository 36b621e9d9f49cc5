"""Finds literals in blocks of bytes: by hyperscan, by the automaton of ahocorasick_rs, or with the standard library.

All three tell for every line which literals it holds, and nothing else; what is made of that is common to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from doctor.logs.read.quick import literal_noter

#: (literal, a position inside it), in order of position; a literal that a line holds is told at least once for it
Found = Sequence[tuple[int, int]]

HYPERSCAN, AHO_CORASICK, SHAPES = "hyperscan", "ahocorasick", "shapes"
ENGINES = (HYPERSCAN, AHO_CORASICK, SHAPES)


class Engine(Protocol):
    """Finds a fixed set of literals."""

    name: str

    def find(self, data: bytes) -> Found:
        """Tell which literals lines of a block hold."""
        ...


class EngineMissing(Exception):  # noqa: N818 - it says which package to install
    """The engine that was asked for is not installed."""


def make_engine(literals: Sequence[bytes], name: str = "auto") -> Engine:
    """The fastest engine there is, or the one that is named.

    Raises:
        EngineMissing: the package of the named engine cannot be imported.

    """
    if name != "auto":
        return _make(name, literals)
    for each in ENGINES[:-1]:
        try:
            return _make(each, literals)
        except EngineMissing:
            continue
    return _make(SHAPES, literals)


def _make(name: str, literals: Sequence[bytes]) -> Engine:
    from doctor.logs.match.shapes import ShapeCache

    if not literals or name == SHAPES:
        return ShapeCache(literals)
    try:
        return Hyperscan(literals) if name == HYPERSCAN else AhoCorasick(literals)
    except ImportError as error:
        message = f"the log engine `{name}` is not installed: {error}"
        raise EngineMissing(message) from None


class AhoCorasick:
    """The automaton as a table; overlapping, for a literal may hide behind another that ends later."""

    name = AHO_CORASICK

    def __init__(self, literals: Sequence[bytes]) -> None:
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        self._automaton = BytesAhoCorasick(literals, implementation=Implementation.DFA)

    def find(self, data: bytes) -> Found:
        """Tell which literals lines of a block hold."""
        found = self._automaton.find_matches_as_indexes(data, overlapping=True)
        return [(literal, end - 1) for literal, _, end in found]


class Hyperscan:
    """Vectorised search of literals.

    It looks for the beginnings of the literals, each of which ends where text seldom has the same letters, and compares
    the rest where one is found: its first stage knows little more than the last letters, and words that end as all
    English does ("... failed") stop it everywhere in what a model writes. Half the time on such text.
    """

    name = HYPERSCAN

    def __init__(self, literals: Sequence[bytes]) -> None:
        from doctor.logs.match.engine_cache import database

        beginnings, self._database = database(literals, _to_rare_end)
        owners: dict[bytes, list[int]] = {}
        for number, beginning in enumerate(beginnings):
            owners.setdefault(beginning, []).append(number)
        #: of each beginning its length, and the literals that begin so; none to compare where it is all of its only one
        self._beginnings = tuple(
            (len(beginning), tuple(numbers), tuple(literals[each] for each in numbers))
            if len(numbers) > 1 or literals[numbers[0]] != beginning
            else (len(beginning), tuple(numbers), ())
            for beginning, numbers in owners.items()
        )

    def find(self, data: bytes) -> Found:
        """Tell which literals lines of a block hold."""
        found: list[tuple[int, int]] = []
        self._database.scan(data, match_event_handler=literal_noter(data, found, self._beginnings))
        return found


#: from frequent to seldom in English text (https://en.wikipedia.org/wiki/Letter_frequency), the space before all
_FREQUENT = b" etaoinshrdlcumwfgypbvkjxqz"
#: letter -> how seldom it is; capitals, digits and punctuation are the most seldom
_SELDOM = 2 * len(_FREQUENT)
_RARITY = bytes(_FREQUENT.index(each) if each in _FREQUENT else _SELDOM for each in range(256))
#: the least length of a beginning; its last three letters decide: measured
_SHORTEST = 10


def _to_rare_end(literal: bytes) -> bytes:
    """The beginning of a literal whose last three letters are the rarest, the longest of equals; all of a key."""
    if len(literal) <= _SHORTEST:
        return literal
    rarity = literal.translate(_RARITY)
    if rarity[-2] == rarity[-1] == _SELDOM:  # "'loss':"
        return literal
    ends = list(map(sum, zip(rarity[_SHORTEST - 3 :], rarity[_SHORTEST - 2 :], rarity[_SHORTEST - 1 :], strict=False)))
    return literal[: _SHORTEST + len(ends) - 1 - ends[::-1].index(max(ends))]

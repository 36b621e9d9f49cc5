"""Which known name a misspelt one was meant to be: the nearest, if it is near enough to be a slip of the hand."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.base.patterns import later

#: letters of a word that one mistake may spoil: `optimisation` has one, `attn` for `cache` has five of five
_LETTERS_A_SLIP = 3
_WORDS = later(r"[_.\-]")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is a misspelling of, None where none is near enough or two are as near.

    Names are compared as a whole and word by word: long words in common (`attn_implementation`,
    `cache_implementation`) do not make up for a word that is another.
    """
    scored = sorted(
        (distance(name.lower(), each.lower()), each) for each in set(known) if each != name and _is_slip(name, each)
    )
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0] > 0):
        return None
    return scored[0][1]


def distance(one: str, other: str) -> int:
    """Insertions, removals, replacements and swaps of neighbours that make one text of the other (Damerau)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                row[j] = min(row[j], older[j - 2] + 1)
    return row[-1]


def _is_slip(name: str, known: str) -> bool:
    """Whether each word is near its counterpart, or but a separator is missing."""
    ours, theirs = (_WORDS.split(each.lower()) for each in (name, known))
    if len(ours) == len(theirs):
        return all(_is_alike(a, b) for a, b in zip(ours, theirs, strict=True))
    return distance("".join(ours), "".join(theirs)) <= 1  # `numgenerations`


def _is_alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    if shorter > _LETTERS_A_SLIP and (one.startswith(other) or other.startswith(one)):
        return True  # `gradient_clip`
    exact = one.isdigit() or other.isdigit() or shorter == 1
    return distance(one, other) <= (0 if exact else max(1, shorter // _LETTERS_A_SLIP))

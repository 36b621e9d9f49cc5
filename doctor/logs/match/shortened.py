"""Messages that somebody cut off with `...`: problems whose words begin as what is left of them.

A signature needs the words that tell its problem from others, and these may be just the ones that are missing. So the
answer is no finding: it names what the whole message may be.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.logs.match.matcher import Compiled
from doctor.logs.match.pattern_tree import openings

_CUT = later(r"\s{0,4}(?:\.\.\.|…|\[\.\.\.\]|\(\.\.\.\))\s*$")
_LONGEST, _MOST = 400, 3
_TRIED = 40  # patterns, those with the most words of the message first
#: letters that a pattern must name of what is left, beside what may be anything
_FEWEST_LETTERS = 16


def begins_like(kind: str, message: str, signatures: Sequence[Compiled]) -> tuple[str, ...]:
    """Ids of problems that a shortened message may be, the one with the most words in common first.

    Args:
        kind: type of the exception.
        message: what is left of its message.
        signatures: of the catalogue.

    """
    line = message.partition("\n")[0]
    if len(line) > _LONGEST or not (cut := _CUT.search(line)) or not cut.start():
        return ()
    left = line[: cut.start()]
    words = set(re.findall(r"[A-Za-z_]{4,}", left))
    found: dict[str, int] = {}

    def common(one: Compiled) -> int:
        return sum(len(word) for word in words if word in one.signature.pattern)

    for each in heapq.nlargest(_TRIED, signatures, common):
        found[each.problem_id] = max(found.get(each.problem_id, 0), _shared(each, (f"{kind}: {left}", left)))
    told = [name for name, letters in found.items() if letters]
    return tuple(sorted(told, key=lambda name: -found[name])[:_MOST])


def _shared(declared: Compiled, texts: Sequence[str]) -> int:
    """How many letters of a pattern stand at the end of one of some texts, 0 where too few do."""
    for opening, letters in openings(declared.signature.pattern):
        if letters < _FEWEST_LETTERS:
            return 0
        if any(opening.search(each) for each in texts):
            return letters
    return 0

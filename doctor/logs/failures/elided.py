"""Tracebacks that somebody shortened before pasting them: which frames are missing nobody can say.

A signature's `frame` tells words apart that several programs say. Where frames were left out, it cannot be asked for;
the words alone count then, as far as they hold a name that no other program has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from doctor.base.patterns import later

if TYPE_CHECKING:
    from doctor.logs.match.pattern_tree import Item

#: a line that stands for frames: dots, or what people write in brackets. Python's own "[Previous line repeated 9 more
#: times]" leaves nothing out (https://docs.python.org/3/library/traceback.html#traceback.StackSummary.format)
_GAP = later(
    r"^\s{0,40}(?:[#>|│] ?)?(?:\.{3,}|…{1,3}|。{3,}|·{3,}|[\[(<]\s?(?:\.{3,}|…{1,3}|snip\w{0,4}|omitted"
    r"|truncated|skipped"
    r"|中间?省略|省略|略)[^\])>\n]{0,60}[\])>]|\.{3,} ?[\w ]{1,40}(?: ?\.{3,})?|-{2,} ?(?:snip\w{0,4}"
    r"|omitted) ?-{2,}|省略[^\n]{0,40})\s*$",
    re.IGNORECASE,
)
#: what a name of somebody's own looks like: two words joined by an underscore, or by a capital
_NAME = later(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[A-Z]\w+")
_LETTERS = 8
#: names that every program says: the interpreter's and torch's own
#: https://docs.python.org/3/library/exceptions.html
_EVERYBODYS = later(
    r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration)$|^(?:NoneType|FieldInfo|ModuleList|AutoConfig|fill_value"
    r"|SimpleNamespace|DataLoader|DataFrame|Namespace|world_size|input_ids|attention_mask)$"
)


def marks_gap(text: str) -> bool:
    """Whether a line of a traceback says that frames were left out here."""
    return bool(_GAP.match(text))


@lru_cache(maxsize=1024)
def unmistakable(pattern: str) -> bool:
    """Whether what a pattern cannot match without holds a name that tells who speaks.

    Raises:
        re.error: it is no regular expression.

    """
    from doctor.logs.match.pattern_tree import constants, parse

    tree, _ = parse(pattern)
    if len(tree) == 1 and tree[0][0] is constants.BRANCH:
        return all(_named(_fixed(way)) for way in tree[0][1][1])
    return _named(_fixed(tree))


def _named(fixed: Iterator[str]) -> bool:
    names = _NAME.findall("".join(fixed))
    return any(len(name) >= _LETTERS and not _EVERYBODYS.search(name) for name in names)


def _fixed(items: Sequence[Item]) -> Iterator[str]:
    """Letters that are always there; a space stands for whatever else may be between them."""
    from doctor.logs.match.pattern_tree import constants

    for kind, what in items:
        if kind is constants.LITERAL:
            yield chr(what)
        elif kind is constants.SUBPATTERN:
            yield from _fixed(what[-1])
        elif kind is not constants.AT:
            yield " "

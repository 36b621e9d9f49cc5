"""The tree that Python's own parser makes of a pattern; where its modules are differs between versions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

if sys.version_info >= (3, 11):
    from re import _compiler, _constants, _parser
else:
    import sre_compile as _compiler
    import sre_constants as _constants
    import sre_parse as _parser

constants: Any = _constants
_compile: Any = _compiler.compile

#: (kind, what belongs to it), as in the standard library
Item = tuple[Any, Any]

_KINDS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
REPEATS = tuple(getattr(constants, name) for name in _KINDS if hasattr(constants, name))
ATOMIC = getattr(constants, "ATOMIC_GROUP", None)  # Python 3.11
ZERO_WIDTH = (constants.AT, constants.ASSERT, constants.ASSERT_NOT)


def parse(pattern: str) -> tuple[list[Item], int]:
    """Items of a pattern, and its flags.

    Raises:
        re.error: it is no regular expression.

    """
    tree: Any = _parser.parse(pattern)
    return list(tree), tree.state.flags


def openings(pattern: str) -> Iterator[tuple[re.Pattern[str], int]]:
    """What matches the beginning of a pattern at the end of a text, the longest first, and how many letters it names.

    A pattern that is a choice of several has no common beginning: each of them is taken.

    Raises:
        re.error: it is no regular expression.

    """
    tree: Any = _parser.parse(pattern)
    ways = [tree]
    if len(tree) == 1 and tree[0][0] is constants.BRANCH:
        ways = tree[0][1][1]
    for way in ways:
        for end in range(len(way), 0, -1):
            letters = sum(kind is constants.LITERAL for kind, _ in way[:end])
            opening = way[:end]
            opening.append((constants.AT, constants.AT_END_STRING))
            yield _compile(opening, tree.state.flags), letters

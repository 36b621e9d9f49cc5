"""The tree that Python's own parser makes of a pattern; where its modules are differs between versions."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants, _parser
else:
    import sre_constants as _constants
    import sre_parse as _parser

constants: Any = _constants

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

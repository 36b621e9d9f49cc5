"""Regular expressions that are compiled when they are first needed.

Compiling those of a post-mortem takes longer than reading a small log, and most of them are never tried on it.
Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr

_OFFERED = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "pattern", "search", "split", "sub",
    "subn",
)  # fmt: skip


class Later:
    """Stands for a compiled expression; what that offers becomes its own when the first of it is asked for.

    Its text alone can be had without that.
    """

    def __init__(self, pattern: object, flags: int) -> None:
        self._given: Any = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        """Compile it: this is asked only for what is not there yet."""
        if name == "pattern":
            return self._given[0]
        if name not in _OFFERED:
            msg = f"a regular expression that is compiled later offers no {name!r}"
            raise AttributeError(msg)
        made = re.compile(*self._given)
        vars(self).update({each: getattr(made, each) for each in _OFFERED})
        return getattr(made, name)


def later(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, at the first use of the result; an error in the expression shows only then."""
    return Later(pattern, flags)  # type: ignore[return-value]

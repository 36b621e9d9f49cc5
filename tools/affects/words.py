"""The words of a signature that a program must hold to print what the signature matches."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_parse  # nothing public parses regular expressions; `re` itself leans on this one

#: characters from which on a run of literals is told from chance
LEAST = 14

_RAISED = re.compile(r"^(?:(?:\w+\.)*\w*(?:Error|Exception|Warning))?: ?")  # a choice of names leaves the colon
#: where one string literal goes on in the next, on the same line or the one below
_SEAM = re.compile(r"""(["'])[ \t]*\\?\n?[ \t]*[rRbBfFuU]{0,2}(["'])""")


def fragments(pattern: str) -> tuple[str, ...]:
    """Literal runs of at least `LEAST` characters that every match of a pattern holds, without an exception's name."""
    runs = [""]
    for each in _parts(sre_parse.parse(pattern)):
        if each is None:
            runs.append("")
        else:
            runs[-1] += each
    told = (_RAISED.sub("", each).strip() for each in runs)
    return tuple(each for each in told if len(each) >= LEAST)


def _parts(parsed: Any) -> Iterator[str | None]:
    """Yield characters that must stand there, in their order, and None where something else may stand between."""
    for operator, argument in parsed:
        name = str(operator)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "SUBPATTERN":
            yield from _parts(argument[3])
        elif name not in ("AT", "ASSERT", "ASSERT_NOT"):
            yield None


def joined(source: str) -> str:
    """A source in which string literals that stand behind each other are one, so that a sentence stands whole."""
    return _SEAM.sub("", source).replace('\\"', '"').replace("\\'", "'")

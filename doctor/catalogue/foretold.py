"""The errors that a problem's own words foretell, as patterns by which a log is known to show its failure.

A manual or a message that says "ends with `ValueError: Rollout mode 'sync' has been removed`" tells how the failure
will print. Where a check finds its problem in what a log tells, and the log holds such an error, that is the failure
which followed; no signature has to be written for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from doctor.base.patterns import later

_QUOTED = later(r"`(\w*(?:Error|Exception): [^`\n]{12,200})`")
#: what stands for another text in each case: a value of the finding, a letter in quotes, three points
_OPEN = later(r"\{\w+\}|'\w'|\.\.\.")
#: a text with fewer letters beside these could be anybody's
_LEAST_LETTERS = 12


def foretold(texts: Iterable[str]) -> tuple[str, ...]:
    """Patterns of the errors quoted in texts, the name of the exception included."""
    return tuple(dict.fromkeys(pattern for text in texts for pattern in _patterns(" ".join(text.split()))))


def _patterns(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        fixed = _OPEN.split(match.group(1))
        said = "".join(fixed).partition(": ")[2]
        if sum(map(str.isalpha, said)) >= _LEAST_LETTERS:
            yield ".{1,80}".join(map(re.escape, fixed))

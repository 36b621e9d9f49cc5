"""Words that settings of the installed releases may take, read from their own source files as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from doctor.base.patterns import later
from doctor.base.record import record

_MEMBER = later(r"^    (\w+)(?:\s*:\s*[^=\n]+)?\s*=\s*(.*)$", re.MULTILINE)


@record
class Choices:
    """What the sources of the installed libraries allow.

    Args:
        words: name of the enumeration, alias or argument, `transformers.OptimizerNames` -> its words in order. What
            could not be read to its end is absent.

    """

    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, *names: str) -> tuple[str, ...]:
        """The words of the first of several names that is known, none where none is."""
        return next((self.words[name] for name in names if self.words.get(name)), ())


def names(text: str, name: str) -> tuple[str, ...]:
    """Names of the members of an enumeration."""
    head = re.search(rf"^class {name}\(.*\):\n", text, re.MULTILINE)
    if head is None:
        return ()
    body = re.split(r"^\S", text[head.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    return tuple(each for each, _ in _MEMBER.findall(body) if each.isupper())

"""Messages of exceptions that a person quotes without their type: searched for the signatures that ask for the type.

A signature's pattern begins with the exception's type, for the message alone may stand in many a log. In a few quoted
lines that show no failure the message alone is what was quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.base.redact import without_secrets
from doctor.catalogue.signature import Hit
from doctor.logs.failures.case import Case
from doctor.logs.lines.lines import Line
from doctor.logs.lines.prefixes import strip
from doctor.logs.match.problems import Catalogue

#: lines of an excerpt that is no more than what a person quotes
MOST_LINES = 12
_LONGEST = 1_000  # characters of a line
_FEWEST_WORDS = 4
_TYPE = later(r"\b[A-Z][A-Za-z]{1,40}(?:Error|Exception)\b")
#: a record, a list or a path; and words of what goes on after a warning, which libraries print bare as well
_WARNS = later(r"(?i)warn|\.py:\d|^\s*[-*\[(]")
_GOES_ON = later(
    r"(?i)\bwe will\b|\bwill (?:be|default|use|fall)\b|\b(?:may|might|can|could) (?:lead|cause|result)\b|\binstead\b"
    r"|\b(?:falling|falls?) back\b|\b(?:default(?:s|ing)?|setting|ignoring|skipping|using) \w+"
)
#: how to install something, and what tells that it is missed: without that a guide or a file says so of itself
_INSTALLS = later(r"(?i)\bpip3? install\b")
_MISSED = later(
    r"(?i)\b(?:not|n't|missing|absent|requires?|required|needs?|needed|must|cannot|unable|failed|please install)\b"
)
_TYPES = (
    "ValueError", "RuntimeError", "TypeError", "AssertionError", "AttributeError", "KeyError", "ImportError", "OSError",
    "IndexError", "NotImplementedError", "Exception",
)  # fmt: skip
_HEADS = tuple(f"{each}: ".encode() for each in _TYPES)
_WORD = later(r"[A-Za-z]{2,}")


def hits_in(case: Case, catalogue: Catalogue) -> list[tuple[int, Hit]]:
    """Hits of signatures in lines that are messages without a type: (position in the catalogue, hit)."""
    return [hit for line in lines_of(case) for hit in _hits(line, catalogue)]


def lines_of(case: Case) -> Iterator[Line]:
    """The lines of an excerpt without failures and ends, as far as they have the words of a message."""
    if case.failures or case.exits or case.lines > MOST_LINES or case.marks.steps is not None:
        return
    for place, kept in enumerate(case.kept):
        for number, whole in kept:
            stripped = strip(whole[:_LONGEST])
            text = stripped.text.strip()
            # a record is no exception, and code is indented
            record = bool(stripped.level or stripped.stamp is not None or _WARNS.search(whole) or _GOES_ON.search(text))
            record = record or (_INSTALLS.search(text) is not None and not _MISSED.search(text))
            if len(_WORD.findall(text)) >= _FEWEST_WORDS and not record and not whole.startswith((" ", "\t")):
                yield Line(text, "", None, None, case.sources[place].path, number, source=place)


def _hits(line: Line, catalogue: Catalogue) -> Iterator[tuple[int, Hit]]:
    # a literal of a signature may hold the end of the type
    for index, pattern in catalogue.errors_behind(_HEADS, line.text.encode()):
        for kind in dict.fromkeys(_TYPE.findall(pattern)):
            match = re.search(pattern, f"{kind}: {line.text}")
            if match is not None and match.start() == 0:
                groups = {name: value for name, value in match.groupdict().items() if value is not None}
                groups, told = without_secrets(groups, line.text)
                yield index, Hit(groups, told, line.file, line.number)
                break

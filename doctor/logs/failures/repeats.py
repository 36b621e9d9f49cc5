"""Errors that a program logs again and again while it goes on: nothing failed, and nobody can say that all is well."""

from __future__ import annotations

from dataclasses import field

from doctor.base.patterns import later
from doctor.base.record import mutable, record
from doctor.logs.failures.case import Case, line_of
from doctor.logs.lines.lines import Line
from doctor.logs.lines.prefixes import strip

#: times that a line must come, and the tenths of the log in which it must be: what comes now and then is got over
_OFTEN, _TENTHS, _PARTS = 20, 8, 10
#: a record of this level holds one of these
_WORDS = ("ERROR", "CRITICAL", "FATAL", '"error"', '"critical"')
_LEVELS = frozenset("EF")
#: what differs from time to time within one message
_VARIES = later(r"0x[0-9a-fA-F]+|\d+|'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|[\w.\-]*[/@][\w./@\-]*")
#: a message up to its first colon is what went wrong, where it says as much; behind it is how
_FEWEST_WORDS, _LONGEST, _MOST_FORMS = 3, 80, 2_000


@record
class Repeated:
    """An error that was logged again and again.

    Args:
        first, last: its first and last line.
        count: how often, those that Ray folded among them.

    """

    first: Line
    last: Line
    count: int


@mutable
class _Form:
    first: Line
    last: Line
    count: int = 0
    parts: set[int] = field(default_factory=set)


def repeated(case: Case) -> Repeated | None:
    """The error that came most often, all through a log; None where none did."""
    worst: _Form | None = None
    for source, kept in enumerate(case.kept):
        total = kept[-1][0] if kept else 0
        forms: dict[str, _Form] = {}
        for number, text in kept if len(kept) >= _OFTEN else ():
            if not any(word in text for word in _WORDS):
                continue
            line = line_of(strip(text), case.sources[source], source, number, 1970)
            if line.level not in _LEVELS or len(forms) >= _MOST_FORMS:
                continue
            form = forms.setdefault(_form_of(line.text), _Form(line, line))
            form.last, form.count = line, form.count + 1 + line.repeated
            form.parts.add(_PARTS * (number - 1) // max(1, total))
        for form in forms.values():
            often = form.count >= _OFTEN and len(form.parts) >= _TENTHS
            if often and (worst is None or form.count > worst.count):
                worst = form
    return None if worst is None else Repeated(worst.first, worst.last, worst.count)


def _form_of(text: str) -> str:
    head = text.partition(": ")[0]
    told = head if len(head.split()) >= _FEWEST_WORDS else text
    return _VARIES.sub("_", told[:400])[:_LONGEST]

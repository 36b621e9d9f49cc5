"""Messages that a console broke at its width: put together again, and searched for the signatures they hid.

rich prints a traceback in a box, and the message below it broken into lines of the console's width; a path is cut
anywhere (https://rich.readthedocs.io/en/stable/traceback.html). The pass over the log looks at one line at a time.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from doctor.base.redact import without_secrets
from doctor.catalogue.signature import Hit
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import is_own
from doctor.logs.failures.raised import Failure, Raised
from doctor.logs.match.problems import Catalogue

_MOST = 20  # failures that are looked at; the first of a run say it all
_LONGEST = 4_000  # characters of a message


def hits_in(case: Case, catalogue: Catalogue, known: Container[int]) -> list[tuple[int, Hit]]:
    """Hits of signatures that no single line showed: (position in the catalogue, hit).

    Args:
        case: its failures.
        catalogue: the signatures.
        known: positions of those that have hit already.

    """
    broken = [
        (failure, raised)
        for failure in case.failures
        for raised in failure.chain
        if raised.width and "\n" in raised.message
    ]
    return [hit for failure, raised in broken[:_MOST] for hit in _hits(failure, raised, catalogue, known)]


def _hits(failure: Failure, raised: Raised, catalogue: Catalogue, known: Container[int]) -> Iterable[tuple[int, Hit]]:
    text = f"{raised.type}: {raised.unbroken[:_LONGEST]}"
    raw, line = text.encode(), raised.line
    for index, each in enumerate(catalogue.signatures):
        if index in known or not any(literal in raw for literal in each.literals):
            continue
        if match := re.search(each.signature.pattern, text):
            groups = {name: value for name, value in match.groupdict().items() if value is not None}
            keys = tuple(frame.key for frame in raised.frames)
            groups, told = without_secrets(groups, text)
            yield index, Hit(
                groups, told, line.file, line.number, rank=failure.rank, time_ns=line.time_ns, process=line.process,
                frames=keys, level=line.level, own=tuple(filter(is_own, keys)),
            )  # fmt: skip

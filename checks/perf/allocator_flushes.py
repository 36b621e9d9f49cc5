"""Judges allocator-flushes (PRF008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: messages below which it is an odd long batch; DeepSpeed itself minds only what happens often
_OFTEN = 5


def explain(hits: Hits) -> Finding | None:
    """Silent where single flushes are hours apart."""
    most = max(int(each.groups["flushes"]) for each in hits)
    if hits.count < _OFTEN and most == 1:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        flushes=most,
        messages=hits.count,
    )

"""Judges numpy-abi (PYT020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands


#: positions: a proof by itself; what NumPy prints of such a module, after which the import may well go on
SIZE, PRINTED = 0, (3, 4)


def explain(hits: Hits) -> Finding:
    """What NumPy prints when an old module asks for its interface is no proof that the import failed."""
    seen = {hit.signature for hit in hits}
    failed = SIZE in seen or (not seen.isdisjoint(PRINTED) and not seen.issubset(PRINTED))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        confidence=CONFIRMED if failed else LIKELY,
    )  # fmt: skip

"""Judges options-exclude (ORL004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: groups of the pattern, a pair of options each
_PAIRS = TOML.phrases("why")


def explain(hits: Hits) -> Finding | None:
    """Words of the pair that was refused."""
    name = next((key for key in _PAIRS if hits.get(key)), "sleep")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        why=_PAIRS[name],
        fix=TOML.phrase(f"fix.{name}"),
    )

"""Judges unsloth-lengths-differ (TRL054), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
CUT = TOML["cut"]
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Unsloth's own notice settles the cause; without it two lengths are all that is known."""
    if not (hits.of(0) or hits.of(1) or (hits.of(2) and hits.of(3))):
        return None
    cut = hits.of(2)
    values = cut[-1].groups if cut else {"a": hits.get("a"), "b": hits.get("b")}
    return found(
        PROBLEM, CUT if cut else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if cut else LIKELY, **values,
    )  # fmt: skip

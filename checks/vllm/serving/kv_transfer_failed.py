"""Judges kv-transfer-failed (VLL109), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
CASES = TOML.cases


def explain(hits: Hits) -> Finding:
    """The most telling of the hits speaks: other ranks only repeat that something failed."""
    telling = min(hits, key=lambda hit: hit.signature)
    address = telling.groups.get("address") or ""
    return found(
        PROBLEM,
        CASES[telling.signature][1],
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        place=f" ({address})" if address else "",
        seconds=telling.groups.get("seconds") or "",
        side=(telling.groups.get("side") or "").lower(),
    )

"""Judges sglang-warmup-refused (VLL106), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
PROXY = TOML["proxy"]
OTHER = TOML["other"]


#: what a proxy answers for an address that it does not serve
_OF_PROXY = frozenset({"403", "407", "502", "503", "504"})


def explain(hits: Hits) -> Finding:
    """Statuses of a proxy, or of the server."""
    status = hits.get("status") or ""
    return found(
        PROBLEM,
        PROXY if status in _OF_PROXY else OTHER,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        status=status,
    )

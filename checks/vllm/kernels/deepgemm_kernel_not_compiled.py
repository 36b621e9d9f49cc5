"""Judges deepgemm-kernel-not-compiled (VLL101), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: group -> the phrases for what it caught
WHAT = {
    "old": "old",
    "failed": "failed",
    "runtime": "runtime",
    "absent": "absent",
    "corrupt": "corrupt",
    "nowhere": "absent",
}


def explain(hits: Hits) -> Finding:
    """Which step failed."""
    kind = next(words for name, words in WHAT.items() if hits.get(name))
    tool, least = hits.get("old") or "", hits.get("least") or ""
    return found(
        PROBLEM,
        MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if kind == "old" else LIKELY,
        what=TOML.phrase(f"what.{kind}"),
        why=TOML.phrase(f"why.{kind}", tool=tool, least=least),
    )

"""Judges VLL5449/media, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
START = TOML["start"]
UNEVEN = TOML["uneven"]


def explain(hits: Hits) -> Finding:
    """The next power of two that the item fits into is proposed."""
    if hits.get("uneven"):
        return found(PROBLEM, UNEVEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    item = hits.get("item")
    length = int(item or hits.get("length") or 0)
    wanted = 1 << max(length - 1, 1).bit_length()
    return found(
        PROBLEM, START if item else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        kind=hits.get("kind"), length=length, room=hits.get("batch") or hits.get("room"), wanted=wanted,
        commands=(f"--max-num-batched-tokens {wanted}",),
    )  # fmt: skip

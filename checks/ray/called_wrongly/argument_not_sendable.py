"""Judges RAY7273/argument_not_sendable, a row of called-wrongly; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
PICKLE = TOML["pickle"]
LARGE = TOML["large"]
MESSAGE_SIZE = TOML["size"]


_MIB = 2**20


def explain(hits: Hits) -> Finding:
    """No form of bytes, or too many of them."""
    kind, culprit, type_ = hits.get("kind"), hits.get("culprit"), hits.get("type")
    size = int(hits.get("message") or 0) // _MIB or hits.get("size") or 0
    message = PICKLE if kind else LARGE if hits.get("large") else MESSAGE_SIZE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        name=hits.get("name") or "", culprit=culprit or "", kind=TOML.phrase(f"kind.{kind}") if kind else "",
        type_=type_, size=size, limit=int(hits.get("limit") or 0) // _MIB,
    )  # fmt: skip

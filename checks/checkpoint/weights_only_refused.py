"""Judges weights-only-refused (CKP009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OTHER_FILE = TOML["other_file"]


#: what text begins with, and no pickle of torch: a line end, `<`, `v` of "version", `{`
_TEXT = frozenset({"10", "60", "118", "123"})


def explain(hits: Hits) -> Finding | None:
    """Name the type where a line does; a file that is text was never refused for its types."""
    operand = hits.get("operand")
    if operand in _TEXT and not hits.get("type"):
        return found(PROBLEM, OTHER_FILE, where=hits.where(), evidence=hits.evidence(), operand=operand)
    name = hits.get("type")
    shown = f"`{name}`" if name else "an object"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), type=shown,
        confidence=LIKELY if operand else CONFIRMED,
    )  # fmt: skip

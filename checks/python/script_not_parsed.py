"""Judges script-not-parsed (PYT051), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


_IMPORTING = later(r"(?:^<frozen |[\\/])(?:importlib|runpy)\b")
_AT_RUN_TIME = later(r"\(<(?:string|unknown|fstring)>, line \d")


def explain(hits: Hits) -> Finding | None:
    """Only files: what a program parses while it runs (an answer, an expression) has frames that do not import."""
    if not any(_of_a_file(hit) for hit in hits):
        return None
    return TOML.finding(hits, LIKELY)


def _of_a_file(hit: Hit) -> bool:
    if _AT_RUN_TIME.search(hit.text):
        return False
    importing = hit.code.lstrip().startswith(("import ", "from ")) or any(map(_IMPORTING.search, hit.frames[-1:]))
    return not hit.frames or importing

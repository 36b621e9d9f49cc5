"""Judges adapter-config-absent (PFT007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: a name on the hub, which a folder may look like as well
_ON_HUB = later(r"[\w\-][\w.\-]*/[\w.\-]+")


def explain(hits: Hits) -> Finding:
    """A path with a root can be a folder only; of other names the hub may not have been reached."""
    path = hits.get("path") or ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), path=path,
        confidence=LIKELY if _ON_HUB.fullmatch(path) else CONFIRMED,
    )  # fmt: skip

"""Judges bridge-lacks-weight (VRL029), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
FILES = TOML["files"]
MAPPING = TOML["mapping"]
ADAPTER = TOML["adapter"]
DENSE = TOML["dense"]


def explain(hits: Hits) -> Finding:
    """Files that lack something, a table of names that does, or a loader for another kind of model."""
    name, layer, file = hits.get("name"), hits.get("layer"), hits.get("file")
    message = MAPPING if name else ADAPTER if hits.get("adapter") else DENSE if layer else FILES
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        name=name or "",
        layer=layer or "",
        file=file,
    )

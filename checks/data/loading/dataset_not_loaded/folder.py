"""Judges DAT1752/folder, a row of dataset-not-loaded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OTHER_KIND = TOML["other_kind"]


def explain(hits: Hits) -> Finding | None:
    """The other kind of folder is told apart from none."""
    path, got, want = (hits.first.groups.get(name) for name in ("path", "got", "want"))
    message = OTHER_KIND if got else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), path=path, got=got, want=want)

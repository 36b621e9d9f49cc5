"""Judges RAY9660/value, a row of runtime-environment-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


def explain(hits: Hits) -> Finding | None:
    """Say what the case of the first hit calls for, filled with what it captured; others want folders, too."""
    first = hits.first
    folder = "path" in first.groups and bool(first.frames)
    if folder and not any("/ray/" in frame.replace("\\", "/") for frame in first.frames):
        return None
    return TOML.finding(hits)

"""Judges TRK7026/swanlab, a row of tracker-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
CASES = TOML.cases


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for; a refused upload ends no run."""
    finding = TOML.finding(hits)
    uploads = CASES[hits.first.signature][0].kind == "warning"
    return replace(finding, severity=WARNING) if uploads else finding

"""Judges LCH0284/dtype, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says; `torch.int4` exists in newer releases, and torchao asks for it."""
    sure = LIKELY if hits.first.groups["name"] == "int4" else CONFIRMED
    return TOML.finding(hits, sure)

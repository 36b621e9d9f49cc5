"""Judges quantization-state-absent (BNB007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for; slices are those of an attention that was cut evenly."""
    first = hits.first
    if first.signature == 4:
        even = int(first.groups["wide"]) in {int(first.groups["part"]) * number for number in (2, 4, 8)}
        if "pretraining_tp" not in first.code and not even:
            return None
    return replace(TOML.finding(hits), confidence=LIKELY)

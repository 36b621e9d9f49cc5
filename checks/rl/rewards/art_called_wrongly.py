"""Judges art-called-wrongly (RLX024), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


_OWN = frozenset({"ruler", "gather_trajectories"})  # names that a program may have for itself


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    own = hits.first.groups.get("function") in _OWN
    return TOML.finding(hits, LIKELY if own else CONFIRMED)

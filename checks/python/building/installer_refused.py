"""Judges installer-refused (PYT040), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
CASES = TOML.cases


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for; groups that a pattern has twice count under the first's name."""
    first = hits.first
    groups: dict[str, Any] = dict(first.groups)
    for name in ("wheel", "package", "python", "needs", "url"):
        groups[name] = next((groups[each] for each in (name, f"{name}2", f"{name}3") if groups.get(each)), "")
    groups["package"] = f"`{groups['package']}`" if groups["package"] else "a package"
    message = CASES[first.signature][1]
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), **groups)

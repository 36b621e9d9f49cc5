"""Judges placement-group-too-small (RAY030), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
INDEX = TOML["index"]
REQUEST = TOML["request"]


def explain(hits: Hits) -> Finding:
    """A bundle that is not there, or none that is large enough."""
    index, bundles = hits.get("index"), hits.get("bundles")
    return found(
        PROBLEM,
        INDEX if index else REQUEST,
        where=hits.where(),
        evidence=hits.evidence(),
        number=int(index or 0) + 1,
        bundles=bundles,
        what=hits.get("what"),
        request=hits.get("request"),
    )

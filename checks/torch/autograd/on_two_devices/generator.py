"""Judges TOR3430/generator, a row of on-two-devices; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOADER = TOML["loader"]
OTHER = TOML["other"]


def explain(hits: Hits) -> Finding:
    """Tell the DataLoader's sampler from a generator of the script."""
    groups = hits.first.groups
    loader = any("sampler.py:" in each or "dataloader.py:" in each for each in hits.first.frames)
    return found(
        PROBLEM, LOADER if loader else OTHER, where=hits.where(), evidence=hits.evidence(), wanted=groups["wanted"],
        given=groups["given"],
    )  # fmt: skip

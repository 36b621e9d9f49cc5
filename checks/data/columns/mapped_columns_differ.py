"""Judges mapped-columns-differ-in-length (DAT026), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OTHER = TOML["other"]


_MAPS = later(r"[\\/](?:arrow_writer\.py:write_batch|arrow_dataset\.py:(?:_map_single|map|iter_outputs))$")


def explain(hits: Hits) -> Finding:
    """Only a `map` has old columns that can stay behind; other tables are made of columns as well."""
    frames = [frame for hit in hits for frame in hit.frames]
    mapped = any(_MAPS.search(frame) for frame in frames)
    first = hits.first.groups
    return found(
        PROBLEM,
        LOG_MESSAGE if mapped else OTHER,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if frames else LIKELY,
        column=first["column"],
        got=first["got"],
        wanted=first["wanted"],
    )

"""Judges LCH4907/docker, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
CASES = TOML.cases


#: words with a second reading: `--gpus` for another command, a start script without its first line, a lone option
_AMBIGUOUS = ("unknown flag: --gpus", "exec format error", "unknown shorthand flag")


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for, with the image or port where it is told."""
    first = hits.first
    confidence = LIKELY if any(each in first.text for each in _AMBIGUOUS) else CONFIRMED
    image = first.groups.get("image") or first.groups.get("image2")
    platform, port = first.groups.get("platform"), first.groups.get("port")
    return found(
        PROBLEM, CASES[first.signature][1], where=hits.where(), evidence=hits.evidence(),
        image=f"`{image}`" if image else "", platform=f" ({platform})" if platform else "",
        port=f" (`{port}`)" if port else "", name=(first.groups.get("name") or "").lstrip("/"), confidence=confidence,
    )  # fmt: skip

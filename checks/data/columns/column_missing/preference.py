"""Judges DAT1825/preference, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
FRAMEWORK = TOML["framework"]


_FRAMEWORKS = (
    (re.compile(r"(?:^|[\\/])swift[\\/]"), "ms-swift"),
    (re.compile(r"(?:^|[\\/])(?:llamafactory|llmtuner)[\\/]"), "LLaMA-Factory"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for; a framework in between makes the fields itself."""
    frames = hits.first.frames
    framework = next((name for part, name in _FRAMEWORKS if any(map(part.search, frames))), None)
    if framework and hits.first.signature == 1:
        return found(
            PROBLEM, FRAMEWORK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, framework=framework,
            column=hits.get("column"),
        )  # fmt: skip
    return replace(TOML.finding(hits), confidence=LIKELY)

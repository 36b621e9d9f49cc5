"""Judges generation-config-refused (TRF045), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.record import replace
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
LOG_MESSAGE = TOML["log"]
UNNAMED = TOML["unnamed"]


#: lines after the error on which it names what contradicts; the same warnings stand elsewhere of other calls
_NEAR = 12


def explain(hits: Hits) -> Finding | None:
    """Name the value that contradicts, where the error's own lines tell it."""
    sign = len(SIGNATURES) - 1
    errors = [hit for hit in hits if hit.signature != sign]
    if not errors:
        return None
    near = [hit for hit in hits.of(sign) if any(_follows(hit, error) for error in errors)]
    told = replace(hits, kept=[*errors, *near])
    name, value = told.get("name"), told.get("value")
    message, confidence = (LOG_MESSAGE, CONFIRMED) if name else (UNNAMED, LIKELY)
    return found(
        PROBLEM, message, where=told.where(), evidence=told.evidence(), confidence=confidence, name=name, value=value
    )


def _follows(sign: Hit, error: Hit) -> bool:
    return sign.file == error.file and 0 < sign.line - error.line <= _NEAR

"""Judges sampling-from-nan (NUM010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_START = TOML["log_start"]


def explain(hits: Hits) -> Finding | None:
    """NaN in a metric line before it says that the training did it."""
    raised = hits.of(0)
    if not raised:
        return None
    before = any((hit.file, hit.line) < (raised[0].file, raised[0].line) for hit in hits.of(1))
    return found(
        PROBLEM,
        LOG_MESSAGE if before else LOG_MESSAGE_START,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )

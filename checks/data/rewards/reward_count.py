"""Judges reward-count-differs (DAT013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.data._logged import by_trainer

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_UNNAMED = TOML["log_unnamed"]


def explain(hits: Hits) -> Finding | None:
    """Take the numbers from the exception; before 1.10 only where the trainer's own frame raised."""
    named = hits.of(0)
    raised = named or by_trainer(hits)
    if not raised:
        return None
    groups = raised[0].groups
    return found(
        PROBLEM,
        LOG_MESSAGE if named else LOG_MESSAGE_UNNAMED,
        where=hits.where(),
        evidence=hits.evidence(),
        function=groups.get("function"),
        got=groups["got"],
        wanted=groups["wanted"],
    )

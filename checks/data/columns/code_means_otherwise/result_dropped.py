"""Judges DAT3073/result_dropped, a row of code-means-otherwise; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.words import words_of
from doctor.checks.data.columns.code_means_otherwise import written
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def result_dropped(script: Script) -> Judgement:
    """Look the idiom up."""
    yield from written(TOML, script, "result_dropped")

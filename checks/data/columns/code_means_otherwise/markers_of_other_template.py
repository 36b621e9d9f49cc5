"""Judges DAT3073/markers_of_other_template, a row of code-means-otherwise; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.words import words_of
from doctor.checks.data.columns.code_means_otherwise import written
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def markers_of_other_template(script: Script) -> Judgement:
    """Look the idiom up."""
    yield from written(TOML, script, "markers_of_other_template")

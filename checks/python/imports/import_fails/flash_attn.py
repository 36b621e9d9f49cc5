"""Judges PYT0026/flash_attn, a row of import-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.words import words_of
from doctor.checks.python.imports._failed_imports import WORDS, judged
from doctor.facts.deep import Deep
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGES = WORDS


@check(PROBLEM, requires=("FLA003",))
def import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """What a wrong build explains already is not told again."""
    yield from judged(PROBLEM, deep, packages, "flash_attn")

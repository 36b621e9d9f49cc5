"""Judges PYT0026/flash_attn, a row of import-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.shared.failed_imports import (
    ABSENT,
    LIBRARY,
    OTHER_CUDA,
    RAISED,
    SIGNAL,
    SYMBOL,
    TIMEOUT,
    failures,
    finding,
)
from doctor.catalogue.words import words_of
from doctor.facts.deep import Deep
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem


MESSAGES = (ABSENT, SYMBOL, LIBRARY, OTHER_CUDA, SIGNAL, TIMEOUT, RAISED)


@check(PROBLEM, requires=("FLA003",))
def import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """What a wrong build explains already is not told again."""
    for each in failures(deep, "flash_attn"):
        yield finding(PROBLEM, each, packages)

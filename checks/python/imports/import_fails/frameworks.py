"""Judges PYT0026/frameworks, a row of import-fails; its words stand in the TOML of the table."""

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


@check(PROBLEM)
def stack_import_fails(deep: Deep, packages: Packages | None) -> Judgement:
    """torch, flash-attn and bitsandbytes have problems of their own."""
    for each in failures(deep, "trl", "vllm", "deepspeed"):
        yield finding(PROBLEM, each, packages)

"""Judges fp16-and-bf16 (TRF006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def fp16_and_bf16(training: Training) -> Judgement:
    """Judge explicit switches; TRL's own default of bf16 gives way to fp16."""
    fp16, bf16 = training.get("fp16"), training.get("bf16")
    if fp16 is not None and bf16 is not None and truth(fp16.value) and truth(bf16.value):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(fp16, bf16),
            evidence=quoted(fp16, bf16),
            commands=("fp16=False",),
        )

"""Judges TRL3814/twice, a row of generation-batch-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import certainty, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def generation_batch_twice(training: Training) -> Judgement:
    """Judge explicit values other than None."""
    size, steps = training.get("generation_batch_size"), training.get("steps_per_generation")
    if not is_grpo(training) or size is None or steps is None:
        return
    if not size.known or not steps.known:
        yield Skip("`generation_batch_size` or `steps_per_generation` could not be read without running the script")
        return
    if size.known and steps.known and size.value is not None and steps.value is not None:
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=certainty(training),
            where=place_of(steps, size),
            evidence=quoted(size, steps),
            size=size.value,
            steps=steps.value,
        )

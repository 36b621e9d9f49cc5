"""Judges grpo-single-generation (TRL008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import certainty, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def single_generation(training: Training) -> Judgement:
    """Judge an explicit value; the default is 8 in every release."""
    setting = training.get("num_generations")
    if not is_grpo(training) or setting is None:
        return
    if not setting.known:
        yield Skip("`num_generations` could not be read without running the script")
        return
    generations = whole(setting.value)
    if generations is not None and generations < 2:
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=certainty(training),
            where=place_of(setting),
            commands=("num_generations=8",),
            evidence=quoted(setting),
            generations=generations,
        )

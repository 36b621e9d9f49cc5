"""Judges sampling-without-randomness (RLX003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def sampling_without_randomness(training: Training) -> Judgement:
    """Judge explicit values; no default is greedy."""
    if not is_grpo(training):
        return
    for name, greedy, better in (("temperature", 0, "1.0"), ("top_k", 1, "50")):
        setting = training.get(name)
        value = number(setting.value) if setting is not None and setting.known else None
        if setting is not None and value == greedy:
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(setting),
                evidence=quoted(setting),
                commands=(f"{name}={better}",),
                name=name,
                value=f"{value:g}",
            )

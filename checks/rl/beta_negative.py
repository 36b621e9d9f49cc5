"""Judges beta-negative (RLX8901), whose words stand in the TOML beside it."""

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
def beta_negative(training: Training) -> Judgement:
    """TRL takes any number and multiplies the divergence by it."""
    setting = training.get("beta")
    beta = number(setting.value) if setting is not None and setting.known else None
    if is_grpo(training) and setting is not None and beta is not None and beta < 0:
        yield found(
            PROBLEM,
            MESSAGE,
            beta=f"{beta:g}",
            where=place_of(setting),
            commands=(f"beta={-beta:g}",),
            evidence=quoted(setting),
        )

"""Judges gradient-clipping-off (RLX002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def clipping_off(training: Training) -> Judgement:
    """Judge an explicit value; DeepSpeed's own clipping is another setting."""
    setting = training.get("max_grad_norm")
    if not is_grpo(training) or setting is None:
        return
    value = number(setting.value) if setting.known else None
    if value is None:
        yield Skip("`max_grad_norm` could not be read without running the script")
    elif value <= 0:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=("max_grad_norm=1.0",),
            value=f"{value:g}",
        )

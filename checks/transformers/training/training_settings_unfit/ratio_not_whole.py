"""Judges TRF054/ratio_not_whole, a row of training-settings-unfit (words: the TOML)."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.checks.transformers.training.training_settings_unfit import by_steps, certainty, written
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def ratio_not_whole(training: Training) -> Judgement:
    """Above 1 a number of steps is whole."""
    for kind in ("logging", "eval", "save"):
        name = f"{kind}_steps"
        setting = written(training, name)
        value = number(setting.value) if setting is not None else None
        if setting is None or value is None or value <= 1 or value.is_integer() or not by_steps(training, kind):
            continue
        yield found(
            PROBLEM, TOML["log"], where=place_of(setting), confidence=certainty(training), evidence=quoted(setting),
            commands=(f"{name}={round(value)}",), name=name, value=setting.text or setting.value,
        )  # fmt: skip

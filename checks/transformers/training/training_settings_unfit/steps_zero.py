"""Judges TRF054/steps_zero, a row of training-settings-unfit (words: the TOML)."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.checks.transformers.training.training_settings_unfit import by_steps, certainty, is_zero, written
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def steps_zero(training: Training) -> Judgement:
    """Saving by 0 steps is let pass by Transformers; evaluation takes `logging_steps` in the place of its 0."""
    logging, evaluation = written(training, "logging_steps"), written(training, "eval_steps")
    if not is_zero(logging):
        return
    if by_steps(training, "logging"):
        kind, setting = "logging", logging
    elif by_steps(training, "eval") and (is_zero(evaluation) or training.get("eval_steps") is None):
        kind, setting = "evaluation", evaluation or logging
    else:
        return
    yield found(
        PROBLEM, TOML["log"], where=place_of(setting), confidence=certainty(training), evidence=quoted(setting),
        kind=kind, name="logging_steps" if setting is logging else "eval_steps",
    )  # fmt: skip

"""Judges TRF054/scheduler_without_evaluation, a row of training-settings-unfit (words: the TOML)."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.checks.transformers.training.training_settings_unfit import certainty, written
from doctor.facts.packages import Packages
from doctor.facts.training import Training, effective_value

TOML = words_of(__name__)
PROBLEM = TOML.problem
NEEDS_EVALUATION = ("reduce_lr_on_plateau", "greedy")


@check(PROBLEM)
def scheduler_without_evaluation(training: Training, packages: Packages) -> Judgement:
    """Of `eval_strategy`, or of the name that it had before Transformers 4.41."""
    scheduler = written(training, "lr_scheduler_type")
    if scheduler is None or scheduler.value not in NEEDS_EVALUATION or training.get("evaluation_strategy") is not None:
        return
    strategy = effective_value(training, packages, "eval_strategy")
    if strategy is None or str(strategy.value) not in {"no", "False"}:
        return
    yield found(
        PROBLEM, TOML["log"], where=place_of(scheduler), confidence=certainty(training), evidence=quoted(scheduler),
        scheduler=scheduler.value,
    )  # fmt: skip

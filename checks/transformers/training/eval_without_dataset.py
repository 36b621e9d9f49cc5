"""Judges eval-without-dataset (TRF009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def eval_without_dataset(training: Training) -> Judgement:
    """Judge a call whose keywords are all seen."""
    strategy = training.get("eval_strategy")
    if strategy is None or not strategy.known or strategy.value in (None, "no", False):
        return
    if training.trainer_place is None or not training.trainer_arguments or not training.complete:
        return
    given = training.trainer_arguments.get("eval_dataset")
    if given is None or (given.known and given.value is None):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(strategy, otherwise=training.trainer_place),
            evidence=quoted(strategy, given),
            commands=('eval_strategy="no"',),
            confidence=CONFIRMED if given is not None else LIKELY,
            strategy=strategy.value,
            trainer=training.trainer or "Trainer",
        )

"""Judges TRF054/warm_up_beyond_the_run, a row of training-settings-unfit (words: the TOML)."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import number, place_of, whole
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.checks.transformers.training.training_settings_unfit import certainty, written
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
#: schedules that have no warm-up, whatever it is set to (transformers/optimization.py, `get_scheduler`)
_WITHOUT = ("constant", "reduce_lr_on_plateau", "greedy")


@check(PROBLEM)
def warm_up_beyond_the_run(training: Training) -> Judgement:
    """Compare the two settings where both are given as steps; a `warmup_steps` below 1 is a share."""
    warm, total = written(training, "warmup_steps"), written(training, "max_steps")
    schedule = training.get("lr_scheduler_type")
    if warm is None or total is None or (schedule is not None and schedule.value in _WITHOUT):
        return
    steps, most = number(warm.value), whole(total.value)
    if steps is None or most is None or not 1 < most <= steps:
        return
    yield found(
        PROBLEM, TOML["log"], severity=WARNING, where=place_of(warm, total), confidence=certainty(training),
        evidence=quoted(warm, total), commands=(f"warmup_steps={max(1, most // 20)}",), warm=f"{steps:g}", total=most,
    )  # fmt: skip

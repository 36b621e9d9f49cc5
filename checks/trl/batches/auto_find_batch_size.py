"""Judges auto-find-batch-size-refused (TRL020), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def auto_find_batch_size(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch; it is off by default."""
    setting = training.get("auto_find_batch_size")
    if is_grpo(training) and setting is not None and truth(setting.value):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=("auto_find_batch_size=False",),
            version=installed(packages, "trl"),
        )

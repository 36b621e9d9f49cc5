"""Judges TRF054/prefetch_without_workers, a row of training-settings-unfit (words: the TOML)."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.checks.transformers.training.training_settings_unfit import certainty, written
from doctor.facts.packages import Packages
from doctor.facts.training import Training, effective_value

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def prefetch_without_workers(training: Training, packages: Packages) -> Judgement:
    """The default of workers is 0 in every release."""
    prefetch = written(training, "dataloader_prefetch_factor")
    workers = effective_value(training, packages, "dataloader_num_workers")
    if prefetch is None or prefetch.value is None or workers is None or whole(workers.value) != 0:
        return
    yield found(
        PROBLEM, TOML["log"], where=place_of(prefetch), confidence=certainty(training),
        evidence=(*quoted(prefetch), *quoted(training.get("dataloader_num_workers"))),
        commands=("dataloader_num_workers=1",),
    )  # fmt: skip

"""Judges DAT1752/script, a row of dataset-not-loaded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def dataset_is_a_script(training: Training) -> Judgement:
    """A name that ends in .py is refused before anything is looked for.

    https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/load.py
    """
    dataset = training.dataset
    if dataset is None or not dataset.known or not str(dataset.value).endswith(".py"):
        return
    yield found(
        PROBLEM, TOML["log"], where=place_of(dataset), evidence=quoted(dataset), commands=TOML.commands,
        script=str(dataset.value).rpartition("/")[2],
    )  # fmt: skip

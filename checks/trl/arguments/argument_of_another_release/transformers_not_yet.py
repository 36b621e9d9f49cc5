"""Judges TRL2205/transformers_not_yet, whose words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding
from doctor.catalogue.shared.argument_history import came_later, sure_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import (
    found_in_log,
    given_to_transformers,
    refused,
)
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def argument_not_yet(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of TrainingArguments."""
    for given in given_to_transformers(training, packages, launch):
        history = given.history
        if came_later(history, given.version):
            yield given.found(
                TOML, MESSAGE, commands=(f'pip install "transformers>={history.first}"',), first=history.first,
                sure=sure_of(given.named, history, given.version),
            )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for refusal, history in refused(hits, "not-yet", "transformers"):
        commands = (f"pip install -U 'transformers>={history.first}'",)
        return found_in_log(TOML, LOG_MESSAGE, hits, refusal, commands=commands, first=history.first)
    return None

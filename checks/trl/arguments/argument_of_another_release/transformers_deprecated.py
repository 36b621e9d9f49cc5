"""Judges TRL2205/transformers_deprecated, whose words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.shared.argument_history import replacement_name, takes_same_value
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import given_to_transformers
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MESSAGE_RENAMED = TOML["renamed"]


@check(PROBLEM)
def argument_deprecated(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Report an argument only where it does something: set to other than None or False."""
    for given in given_to_transformers(training, packages, launch):
        if not given.is_deprecated:
            continue
        new = replacement_name(given.history)
        successor = data.training_argument(new) if new else None
        known = successor is not None and successor.exists_in(given.version) is True
        same_value = known and takes_same_value(given.history, given.name)
        yield given.found(
            TOML, MESSAGE_RENAMED if new else MESSAGE, sure=given.named.confidence,
            commands=(f"{new}={given.named.setting.text}",) if same_value else (), new=new,
        )  # fmt: skip

"""Judges TRL2205/deprecated, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.shared.argument_history import replacement_name
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import given_to_trl
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MESSAGE_RENAMED = TOML["renamed"]


@check(PROBLEM)
def argument_deprecated(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Report an argument only where it does something: set to other than None."""
    for given in given_to_trl(training, packages, launch):
        if not given.is_deprecated:
            continue
        new = replacement_name(given.history)
        successor = data.trl_argument(given.owner, new) if new else None
        if successor is not None and not successor.inherited and not successor.exists_in(given.version):
            new = None
        yield given.found(
            TOML, MESSAGE_RENAMED if new else MESSAGE, sure=given.named.confidence,
            commands=(f"{new}={given.named.setting.text}",) if new else (), new=new,
        )  # fmt: skip

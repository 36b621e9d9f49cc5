"""Judges TRL2205/transformers_deprecated, whose words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import history_of, own_settings, replacement_name, takes_same_value
from doctor.catalogue.shared.argument_owners import inherits_training_arguments, own_to_trl
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.words import words_of
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
    owner, version, trl = training.config_class, installed(packages, "transformers"), installed(packages, "trl")
    if not inherits_training_arguments(owner, trl):
        return
    for named in own_settings(training, launch):
        setting = named.setting
        history = data.training_argument(setting.name)
        if history is None or own_to_trl(owner, setting.name, trl):
            continue
        if not (history.exists_in(version) and history.deprecated_at(version)):
            continue
        if setting.known and setting.value in (None, False):
            continue
        new = replacement_name(history)
        successor = data.training_argument(new) if new else None
        known = successor is not None and successor.exists_in(version) is True
        same_value = known and takes_same_value(history, setting.name)
        yield found(
            PROBLEM,
            MESSAGE_RENAMED if new else MESSAGE,
            where=place_of(setting),
            evidence=(*quoted(setting), *history_of("Transformers", history)),
            commands=(f"{new}={setting.text}",) if same_value else (),
            confidence=named.confidence,
            name=setting.name,
            version=version,
            new=new,
        )

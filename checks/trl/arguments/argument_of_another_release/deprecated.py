"""Judges TRL2205/deprecated, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import history_of, own_settings, replacement_name
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
    """Report an argument only where it does something: set to other than None."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None:
        return
    for named in own_settings(training, launch):
        setting = named.setting
        history = data.trl_argument(owner, setting.name)
        if history is None or not (history.exists_in(version) and history.deprecated_at(version)):
            continue
        if setting.known and setting.value in (None, False):
            continue
        new = replacement_name(history)
        successor = data.trl_argument(owner, new) if new else None
        if successor is not None and not successor.inherited and not successor.exists_in(version):
            new = None
        yield found(
            PROBLEM,
            MESSAGE_RENAMED if new else MESSAGE,
            where=place_of(setting),
            evidence=(*quoted(setting), *history_of("TRL", history)),
            commands=(f"{new}={setting.text}",) if new else (),
            confidence=named.confidence,
            name=setting.name,
            owner=owner,
            version=version,
            new=new,
        )

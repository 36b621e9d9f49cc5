"""Judges TRL2205/transformers_unknown, whose words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import near, own_settings
from doctor.catalogue.shared.refused_arguments import TRAINING, refusals
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import near_in_log
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MESSAGE_NEAR = TOML["near"]


@check(PROBLEM)
def argument_unknown(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Compare the keywords of the call; what a parser fills may belong to another class."""
    if training.config_class != "TrainingArguments":
        return
    version = installed(packages, "transformers")
    valid = data.training_arguments(version)
    if valid is None:
        yield Skip(f"the arguments of Transformers {version} are not in the doctor's data")
        return
    for named in own_settings(training, launch):
        name = named.setting.name
        if not named.in_call or name in valid or data.training_argument(name) is not None:
            continue
        alike = near(name, valid)
        yield found(
            PROBLEM,
            MESSAGE_NEAR if alike else MESSAGE,
            where=place_of(named.setting),
            evidence=quoted(named.setting),
            commands=(f"{alike}={named.setting.text}",) if alike else (),
            name=name,
            version=version,
            near=alike,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind == "unknown" and not each.package and each.owner in TRAINING:
            return near_in_log(TOML, hits, each, data.training_arguments(data.newest("transformers") or "") or ())
    return None

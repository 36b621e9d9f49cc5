"""Judges TRL2205/unknown, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import known_elsewhere, near, own_settings
from doctor.catalogue.shared.refused_arguments import TRAINING, refusals
from doctor.catalogue.shared.trainers import installed, quoted, unsloth_replaces
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import near_in_log
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MESSAGE_NEAR = TOML["near"]


@check(PROBLEM)
def argument_unknown(training: Training, packages: Packages, launch: Launch | None, script: Script | None) -> Judgement:
    """Compare each name with what the class takes; a name known to another release is another problem."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None or data.trl_class(owner) is None:
        return
    if unsloth_replaces(script):
        yield Skip("Unsloth replaces TRL's configuration classes, and theirs take more arguments")
        return
    valid = data.config_arguments(owner, version, installed(packages, "transformers"))
    if valid is None:
        yield Skip(f"the arguments of `{owner}` in the installed TRL and Transformers are not in the doctor's data")
        return
    for named in own_settings(training, launch):
        name = named.setting.name
        if name in valid or data.trl_argument(owner, name) or data.training_argument(name):
            continue
        alike = near(name, valid)
        if not named.in_call and (alike is None or known_elsewhere(name) or name.removeprefix("no_") in valid):
            continue  # an argument of another class that the same parser fills
        yield found(
            PROBLEM,
            MESSAGE_NEAR if alike else MESSAGE,
            where=place_of(named.setting),
            evidence=quoted(named.setting),
            commands=(f"{alike}={named.setting.text}",) if alike else (),
            confidence=named.confidence,
            name=name,
            owner=owner,
            version=version,
            near=alike,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind == "unknown" and not each.package and each.owner not in TRAINING:
            return near_in_log(TOML, hits, each, _newest_names(each.owner))
    return None


def _newest_names(owner: str) -> frozenset[str]:
    """Names of a class in the newest releases that the data know."""
    trl, transformers = data.newest("trl") or "", data.newest("transformers") or ""
    return data.config_arguments(owner, trl, transformers) or frozenset()

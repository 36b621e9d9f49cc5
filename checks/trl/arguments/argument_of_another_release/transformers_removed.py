"""Judges TRL2205/transformers_removed, whose words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import (
    history_of,
    left_before,
    left_in,
    own_settings,
    replacement_name,
    takes_same_value,
)
from doctor.catalogue.shared.argument_owners import inherits_training_arguments, own_to_trl
from doctor.catalogue.shared.refused_arguments import refusals
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_RENAMED = TOML["log_renamed"]
MESSAGE = TOML["main"]
MESSAGE_RENAMED = TOML["renamed"]


@check(PROBLEM)
def argument_removed(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of TrainingArguments."""
    owner, version, trl = training.config_class, installed(packages, "transformers"), installed(packages, "trl")
    if not inherits_training_arguments(owner, trl):
        return
    for named in own_settings(training, launch):
        history = data.training_argument(named.setting.name)
        if history is None or own_to_trl(owner, named.setting.name, trl) or not left_before(history, version):
            continue
        new = replacement_name(history)
        same_value = takes_same_value(history, named.setting.name)
        yield found(
            PROBLEM,
            MESSAGE_RENAMED if new else MESSAGE,
            where=place_of(named.setting),
            evidence=(*quoted(named.setting), *history_of("Transformers", history)),
            commands=(f"{new}={named.setting.text}",) if same_value else (),
            confidence=named.confidence,
            name=named.setting.name,
            gone=left_in(history),
            last=history.last,
            version=version,
            new=new,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "removed" or each.package != "transformers":
            continue
        assert each.history is not None  # noqa: S101
        return found(
            PROBLEM,
            LOG_MESSAGE_RENAMED if each.new else LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"{each.new}=...",) if each.new else (),
            confidence=each.confidence,
            name=each.name,
            owner=f"`{each.owner}`" if each.owner else "the arguments",
            gone=each.gone,
            last=each.history.last,
            new=each.new,
        )
    return None

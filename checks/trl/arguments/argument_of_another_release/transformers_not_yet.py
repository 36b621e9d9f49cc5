"""Judges TRL2205/transformers_not_yet, whose words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import came_later, history_of, own_settings, sure_of
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
MESSAGE = TOML["main"]


@check(PROBLEM)
def argument_not_yet(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of TrainingArguments."""
    owner, version, trl = training.config_class, installed(packages, "transformers"), installed(packages, "trl")
    if not inherits_training_arguments(owner, trl):
        return
    for named in own_settings(training, launch):
        history = data.training_argument(named.setting.name)
        if history is None or own_to_trl(owner, named.setting.name, trl) or not came_later(history, version):
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(named.setting),
            evidence=(*quoted(named.setting), *history_of("Transformers", history)),
            commands=(f'pip install "transformers>={history.first}"',),
            confidence=sure_of(named, history, version),
            name=named.setting.name,
            first=history.first,
            version=version,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "not-yet" or each.package != "transformers":
            continue
        assert each.history is not None  # noqa: S101
        return found(
            PROBLEM,
            LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"pip install -U 'transformers>={each.history.first}'",),
            confidence=each.confidence,
            name=each.name,
            owner=f"`{each.owner}`" if each.owner else "the arguments",
            first=each.history.first,
        )
    return None

"""Judges TRL2205/not_yet, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import came_later, history_of, own_settings, sure_of
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


#: judged by TRL011, which says what to do without it
COLOCATE = {"vllm_mode", "vllm_tensor_parallel_size"}


@check(PROBLEM)
def argument_not_yet(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of the class."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None:
        return
    for named in own_settings(training, launch):
        history = data.trl_argument(owner, named.setting.name)
        if history is None or history.inherited or named.setting.name in COLOCATE:
            continue
        if came_later(history, version):
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(named.setting),
                evidence=(*quoted(named.setting), *history_of("TRL", history)),
                commands=(f'pip install "trl>={history.first}"',),
                confidence=sure_of(named, history, version),
                name=named.setting.name,
                owner=owner,
                first=history.first,
                version=version,
            )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "not-yet" or each.package != "trl":
            continue
        assert each.history is not None  # noqa: S101
        if each.name == "vllm_mode":
            continue  # TRL011 says what server mode of that release wants
        return found(
            PROBLEM,
            LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"pip install -U 'trl>={each.history.first}'",),
            confidence=each.confidence,
            name=each.name,
            owner=f"`{each.owner}`" if each.owner else "the arguments",
            first=each.history.first,
        )
    return None

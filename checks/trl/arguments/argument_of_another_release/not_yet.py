"""Judges TRL2205/not_yet, a row of argument-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding
from doctor.catalogue.shared.argument_history import came_later, sure_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import found_in_log, given_to_trl, refused
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
    for given in given_to_trl(training, packages, launch):
        history = given.history
        if not history.inherited and given.name not in COLOCATE and came_later(history, given.version):
            yield given.found(
                TOML, MESSAGE, commands=(f'pip install "trl>={history.first}"',), first=history.first,
                sure=sure_of(given.named, history, given.version),
            )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for refusal, history in refused(hits, "not-yet", "trl"):
        if refusal.name != "vllm_mode":  # TRL011 says what server mode of that release wants
            commands = (f"pip install -U 'trl>={history.first}'",)
            return found_in_log(TOML, LOG_MESSAGE, hits, refusal, commands=commands, first=history.first)
    return None

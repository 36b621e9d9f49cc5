"""Judges TRL2205/transformers_removed, whose words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding
from doctor.catalogue.shared.argument_history import left_before, left_in, replacement_name, takes_same_value
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl.arguments.argument_of_another_release._classes import (
    found_in_log,
    given_to_transformers,
    refused,
)
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
    for given in given_to_transformers(training, packages, launch):
        history, setting = given.history, given.named.setting
        if not left_before(history, given.version):
            continue
        new = replacement_name(history)
        yield given.found(
            TOML, MESSAGE_RENAMED if new else MESSAGE, sure=given.named.confidence,
            commands=(f"{new}={setting.text}",) if takes_same_value(history, setting.name) else (),
            gone=left_in(history), last=history.last, new=new,
        )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for refusal, history in refused(hits, "removed", "transformers"):
        return found_in_log(
            TOML, LOG_MESSAGE_RENAMED if refusal.new else LOG_MESSAGE, hits, refusal,
            commands=(f"{refusal.new}=...",) if refusal.new else (), gone=refusal.gone, last=history.last,
            new=refusal.new,
        )  # fmt: skip
    return None

"""Judges fsdp-without-launcher (FSD009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import certainty, is_plain_python, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_BOTH = TOML["log_both"]


@check(PROBLEM)
def without_launcher(launch: Launch, world: World, environment: Environment, training: Training) -> Judgement:
    """Judge `fsdp` of the training arguments where the script is started by plain Python."""
    setting = training.get("fsdp")
    if setting is None or not setting.known or not setting.value or training.trainer is None:
        return
    if truth(setting.value) is False or "fsdp" in training.set_later:
        return
    if is_plain_python(launch, world, environment, training):
        yield found(
            PROBLEM, LOG_MESSAGE, where=place_of(setting), evidence=quoted(setting), confidence=certainty(training)
        )


def explain(hits: Hits) -> Finding | None:
    """Tell the missing launcher from the clash with DeepSpeed."""
    message = LOG_MESSAGE if hits.of(0) else LOG_MESSAGE_BOTH
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())

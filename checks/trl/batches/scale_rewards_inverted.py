"""Judges scale-rewards-inverted (TRL019), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import config_place, installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def scale_rewards_inverted(training: Training, packages: Packages) -> Judgement:
    """Judge the release; every value but an unknown one is treated wrongly."""
    if not is_grpo(training):
        return
    setting = training.get("scale_rewards")
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting, otherwise=config_place(training)),
        evidence=quoted(setting),
        commands=('pip install "trl==0.22.2"',),
        value=setting.value if setting is not None and setting.known else "group",
        version=installed(packages, "trl"),
    )

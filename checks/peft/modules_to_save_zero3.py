"""Judges modules-to-save-zero3 (PFT002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


ZERO_3 = 3


@check(PROBLEM)
def modules_to_save_zero3(training: Training, world: World, packages: Packages) -> Judgement:
    """Judge the three together; the engine has compared the version."""
    setting = (training.lora or {}).get("modules_to_save")
    if setting is None or (setting.known and not setting.value) or world.backend not in {"deepspeed", None}:
        return
    if world.zero_stage is None and world.backend == "deepspeed":
        yield Skip("the ZeRO stage is not known")
        return
    if world.zero_stage != ZERO_3:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=('pip install "deepspeed>=0.19.3"',),
        confidence=CONFIRMED if setting.known else LIKELY,
        modules=setting.text or setting.value,
        version=installed(packages, "deepspeed"),
    )

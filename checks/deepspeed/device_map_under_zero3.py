"""Judges device-map-under-zero3 (DSP023), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def device_map_under_zero3(training: Training, world: World) -> Judgement:
    """Of the script's `from_pretrained`; newer releases of TRL put None in the place of what `model_init_kwargs` say.

    Transformers refuses it where the arguments with their DeepSpeed plugin were made before, so it is likely.
    """
    setting = training.model_arguments.get("device_map")
    if world.zero_stage != 3 or setting is None or not setting.known or setting.value is None:
        return
    if "model_init_kwargs" in training.arguments or setting.name.startswith("model_init_kwargs."):
        return
    yield found(
        PROBLEM, MESSAGE, value=setting.text or str(setting.value), where=place_of(setting), confidence=LIKELY,
        evidence=quoted(setting),
    )  # fmt: skip

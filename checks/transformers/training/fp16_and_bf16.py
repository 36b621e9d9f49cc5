"""Judges fp16-and-bf16 (TRF006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.bf16 import bf16_native, saved_in_bf16
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def fp16_and_bf16(training: Training, gpus: Gpus | None, world: World | None, model: Model | None) -> Judgement:
    """Judge explicit switches; TRL's own default of bf16 gives way to fp16."""
    fp16, bf16 = training.get("fp16"), training.get("bf16")
    if fp16 is not None and bf16 is not None and truth(fp16.value) and truth(bf16.value):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(fp16, bf16),
            evidence=quoted(fp16, bf16),
            commands=(_one_of_them(gpus, world, model),),
        )


def _one_of_them(gpus: Gpus | None, world: World | None, model: Model | None) -> str:
    """The switch to turn off; a card that only emulates bf16 keeps fp16, unless the model was saved in bf16."""
    if bf16_native(gpus, world) is not False:
        return "fp16=False"
    return "fp16=False, bf16=False" if saved_in_bf16(model) else "bf16=False"

"""Judges fsdp-checkpointing-twice (FSD004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.fsdp_settings import fsdp_setting, uses_fsdp
from doctor.catalogue.shared.proofs import effective, proofs, written
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def checkpointing_twice(
    launch: Launch, accelerate: AccelerateConfig | None, training: Training, packages: Packages | None
) -> Judgement:
    """Both names that Transformers has had for the argument."""
    setting = fsdp_setting(launch, accelerate, "activation_checkpointing")
    if not uses_fsdp(launch, accelerate) or setting is None or not truth(setting.value) or training.trainer is None:
        return
    for name in ("gradient_checkpointing", "activation_checkpointing"):
        argument = effective(training, packages, name)
        if argument is not None and argument.value is not None and truth(argument.value):
            yield found(
                PROBLEM,
                MESSAGE,
                argument=name,
                place=written(argument),
                where=place_of(argument, setting),
                commands=(f"{name}=False",),
                evidence=proofs(setting, argument),
            )
            return

"""Judges fsdp-only-model-with-shards (FSD005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.fsdp_settings import fsdp_setting, uses_fsdp, version
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def only_model_with_shards(launch: Launch, accelerate: AccelerateConfig | None, training: Training) -> Judgement:
    """An explicit argument only; its default is off."""
    only = training.get("save_only_model")
    if not uses_fsdp(launch, accelerate) or only is None or not only.known or not truth(only.value):
        return
    number = version(launch, accelerate)
    kind = fsdp_setting(launch, accelerate, "state_dict_type")
    sharded = (
        number == 2
        if kind is None or not kind.known or kind.value is None
        else str(kind.value).upper() == "SHARDED_STATE_DICT"
    )
    if sharded:
        commands = ("fsdp_state_dict_type: FULL_STATE_DICT",)
        place, proof = place_of(only, kind), proofs(only, kind)
        yield found(PROBLEM, MESSAGE, version=number, where=place, commands=commands, evidence=proof)

"""Judges LCH0284/fsdp, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.fsdp_settings import fsdp_setting, uses_fsdp, version
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


WRAPS = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")


def _choices(name: str, value: object, two: bool) -> str | None:
    """What the setting takes, None when its value is one of them."""
    text = str(value).upper()
    if name == "auto_wrap_policy" and text not in WRAPS:
        return ", ".join(WRAPS)
    if name == "sharding_strategy" and not two and text not in STRATEGIES and not text.isdecimal():
        return ", ".join(STRATEGIES)
    if name == "reshard_after_forward" and two and truth(value) is None:
        return "true or false"
    if name == "state_dict_type" and two and text == "LOCAL_STATE_DICT":
        return "SHARDED_STATE_DICT, FULL_STATE_DICT"
    return None


@check(PROBLEM)
def refused_value(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """One finding a setting."""
    if not uses_fsdp(launch, accelerate):
        return
    two = version(launch, accelerate) == 2
    for name in ("auto_wrap_policy", "sharding_strategy", "reshard_after_forward", "state_dict_type"):
        setting = fsdp_setting(launch, accelerate, name)
        if setting is None or not setting.known or setting.value is None:
            continue
        choices = _choices(name, setting.value, two)
        if choices is not None:
            yield found(
                PROBLEM,
                MESSAGE,
                key=f"fsdp_{name}",
                value=setting.value,
                version="2" if two else "1",
                choices=choices,
                where=place_of(setting),
                commands=(f"fsdp_{name}: {choices.split(' or ')[0].partition(',')[0]}",),
                evidence=(proof(setting),),
            )

"""Judges loss-scale-fixed (NUM003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Skip, found
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.deepspeed_config import DeepspeedConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: where dynamic scaling starts by default, 2^16; a lower start leaves few overflows until it collapses (NUM002)
DEFAULT_POWER = 16


def _starts_low(deepspeed: DeepspeedConfig) -> bool:
    """Whether the file has a start for the dynamic scale, which did not count so far, below the default."""
    setting = deepspeed.settings.get("fp16.initial_scale_power")
    power = number(setting.value) if setting is not None else None
    return power is not None and power < DEFAULT_POWER


@check(PROBLEM)
def loss_scale_fixed(deepspeed: DeepspeedConfig) -> Judgement:
    """Judge an explicit scale where fp16 is on or left to the trainer."""
    setting, enabled = deepspeed.settings.get("fp16.loss_scale"), deepspeed.settings.get("fp16.enabled")
    if setting is None or enabled is None or enabled.value is False:
        return
    scale = number(setting.value)
    if scale is None:
        yield Skip("`fp16.loss_scale` of the DeepSpeed JSON is not a number")
    elif scale > 0:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=('"loss_scale": 0, "initial_scale_power": 16' if _starts_low(deepspeed) else '"loss_scale": 0',),
            scale=f"{scale:g}",
            confidence=CONFIRMED if enabled.value is True else LIKELY,
        )

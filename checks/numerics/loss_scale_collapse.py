"""Judges loss-scale-collapse (NUM002), whose words stand in the TOML beside it."""

from __future__ import annotations

import math

from doctor import data
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.words import words_of
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: the defaults of every release from 0.9 on
#: https://www.deepspeed.ai/docs/config-json/#fp16-training-options
DEFAULTS: dict[str, float] = {"loss_scale": 0, "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1}

#: half of the 18 overflows that the defaults survive but the last
FEW = 9


def _numbers(deepspeed: DeepspeedConfig, packages: Packages) -> dict[str, float] | None:
    """Return the four settings, explicit or by default; None when one cannot be read."""
    release = data.deepspeed_release(installed(packages, "deepspeed"))
    defaults = dict(release.fp16_defaults) if release else DEFAULTS
    values = {}
    for name, default in DEFAULTS.items():
        setting = deepspeed.settings.get(f"fp16.{name}")
        value = number(setting.value if setting else defaults.get(name, default))
        if value is None:
            return None
        values[name] = value
    return values


def overflows_to_the_end(power: float, minimum: float, hysteresis: float) -> int:
    """Count the overflows, none more than a window apart, up to the one that raises."""
    halvings = math.ceil(power - math.log2(minimum)) if 2**power > minimum else 0
    return int(max(1, hysteresis)) - 1 + halvings + 1


@check(PROBLEM)
def loss_scale_collapse(deepspeed: DeepspeedConfig, packages: Packages) -> Judgement:
    """Judge a dynamic scale that the JSON changes."""
    settings = [each for name in DEFAULTS if (each := deepspeed.settings.get(f"fp16.{name}"))]
    enabled, stage = deepspeed.settings.get("fp16.enabled"), deepspeed.zero_stage
    if not settings or enabled is None or enabled.value is False or stage == 0:
        return
    values = _numbers(deepspeed, packages)
    if values is None or stage is None:
        yield Skip("the fp16 section of the DeepSpeed JSON could not be read")
        return
    if values["loss_scale"] or values["min_loss_scale"] <= 0:
        return
    power, minimum = values["initial_scale_power"], values["min_loss_scale"]
    count = overflows_to_the_end(power, minimum, values["hysteresis"])
    if count < FEW:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(*settings),
            evidence=quoted(*settings),
            count=count,
            power=f"{power:g}",
            minimum=f"{minimum:g}",
        )

"""The loss-scale settings leave room for only a few overflows.

## What it means
DeepSpeed starts at 2^`initial_scale_power`, swallows `hysteresis` - 1 overflows, halves the scale at each
further one and raises when it overflows at `min_loss_scale`. With its defaults (16, 2, 1) the 18th overflow
ends the run, also when they are up to 1001 steps apart.
## What it does to a run
ZeRO 1, 2 and 3 raise "Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."
after a handful of overflows, which fp16 training meets at its start in any case.
## What to do
Leave the settings at DeepSpeed's defaults, or raise `initial_scale_power`.
## How it is found
The fp16 section of the DeepSpeed JSON, computed as DeepSpeed's DynamicLossScaler does it.
## References
https://www.deepspeed.ai/docs/config-json/#fp16-training-options
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/loss_scaler.py
"""

from __future__ import annotations

import math

from doctor import data
from doctor.checks.trl._helpers import installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import number, place_of
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages

PROBLEM = Problem(id="NUM002", name="loss-scale-collapse", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "overflow number {count} ends the run: scale 2^{power}, minimum {minimum}",
        'DeepSpeed halves the loss scale at each overflow and raises "Current loss scale already at '
        'minimum" when it cannot; with its own defaults that takes 18 overflows.',
        "Take these settings out of the fp16 section, so that the defaults hold.",
    ),
    zh=Words(
        "第 {count} 次溢出就会终止训练:初始 scale 2^{power},最小值 {minimum}",
        "DeepSpeed 每次溢出都会把 loss scale 减半,无法再减时抛出 Current loss scale already at minimum;按默"
        "认设置要 18 次溢出才会如此。",
        "从 fp16 部分删除这些设置,使用默认值。",
    ),
)

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

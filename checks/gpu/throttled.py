"""A GPU is slowed down by heat or by its power supply.

## What it means
The card lowers its clocks because of its temperature or of an external power brake. A power cap set in software is
normal under load and is not meant here.
## What it does to a run
Synchronous training runs at the speed of its slowest card, so one hot card slows the whole run.
## What to do
Look at cooling, dust and air flow of this card; a power brake comes from the power supply or the rack.
## How it is found
NVML, active clock event reasons: hw_thermal_slowdown, hw_slowdown, sw_thermal_slowdown, hw_power_brake_slowdown.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus

PROBLEM = Problem(id="GPU007", name="gpu-throttled", severity=WARNING, since="0.1")

#: short names of NVML's bits; sw_power_cap, gpu_idle and applications_clocks_setting are ordinary
BAD = frozenset({"hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"})

MESSAGE = Message(
    en=Words(
        "{gpu} is slowed down: {reasons}",
        "Synchronous training runs at the speed of its slowest card, so the whole run is slowed down with it.",
        "Look at the cooling and the power supply of this card, or leave it out of the run.",
    ),
    zh=Words(
        "{gpu} 正在降频:{reasons}",
        "同步训练的速度由最慢的卡决定,整个训练都会因此变慢。",
        "请检查这块卡的散热与供电,或不使用它训练。",
    ),
)


@check(PROBLEM)
def throttled(gpus: Gpus) -> Judgement:
    """One finding a card that is slowed down now."""
    for gpu in gpus.that_report("throttle_reasons"):
        reasons = sorted(BAD.intersection(gpu.throttle_reasons or ()))
        if reasons:
            heat = f", {gpu.temperature_c} °C" if gpu.temperature_c is not None else ""
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                reasons=", ".join(f"`{reason}`" for reason in reasons),
                where=Where(gpu=gpu.index),
                commands=(f"nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i {gpu.index}",),
                evidence=(Evidence("NVML", f"clock event reasons: {', '.join(reasons)}{heat}"),),
            )
    if silent := [gpu.index for gpu in gpus.gpus if gpu.throttle_reasons is None and not gpu.error]:
        yield Skip(f"no clock event reasons from GPU {', '.join(map(str, silent))}")

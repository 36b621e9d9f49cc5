"""A GPU is slowed down by heat or by its power supply.

## What it means
The card lowers its clocks because of its temperature or of an external power brake. A power cap set in software is
normal under load and is not meant here.
## What it does to a run
Synchronous training runs at the speed of its slowest card, so one hot card slows the whole run.
## What to do
Look at cooling, dust and air flow of this card; a power brake comes from the power supply or the rack.
## How it is found
NVML, active clock event reasons: hw_thermal_slowdown, hw_slowdown, sw_thermal_slowdown, hw_power_brake_slowdown. In
the figures of `doctor monitor`: one of them for a twentieth of the run and at least half a minute.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
"""

from __future__ import annotations

from collections.abc import Iterable

from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_GPU, Sampled, SampledGpu

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


DURING = Message(
    en=Words(
        "GPU {gpu} was slowed down in {share} % of the run: {reasons}",
        "Synchronous training runs at the speed of its slowest card, so the whole run was slowed down with it.",
        "Look at the cooling and the power supply of this card, or leave it out of the run.",
    ),
    zh=Words(
        "GPU {gpu} 在 {share} % 的运行时间里被降频:{reasons}",
        "同步训练的速度由最慢的卡决定,整个训练都因此变慢。",
        "请检查这块卡的散热与供电,或不使用它训练。",
    ),
)
DURING_MANY = Message(
    en=Words(
        "{count} of {all} GPUs were slowed down in {low} to {high} % of the run: {reasons}",
        "Synchronous training runs at the speed of its slowest card. Where so many are slowed down it is seldom the "
        "cards: the air that they get, or the power of the rack.",
        "Look at the cooling of the machines and at their power supply, the worst first.",
    ),
    zh=Words(
        "{all} 块 GPU 中有 {count} 块在 {low} 到 {high} % 的运行时间里被降频:{reasons}",
        "同步训练的速度由最慢的卡决定。这么多卡同时降频,原因多半不在卡本身,而在进风或机架供电。",
        "请从最严重的机器开始检查散热与供电。",
    ),
)

#: share and seconds of the run that are worth a word
LEAST_SHARE, LEAST_S = 0.05, 30.0


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


@check(PROBLEM)
def slowed_during_the_run(sampled: Sampled) -> Judgement:
    """Cards that spent a part of the run worth a word under heat or a power brake, the worst first."""
    told = [gpu for gpu in sampled.gpus if gpu.slowed_share is not None]
    slow = sorted(
        (gpu for gpu in told if _worth_a_word(gpu, sampled.seconds)), key=lambda gpu: -(gpu.slowed_share or 0)
    )
    if len(slow) > FEW:
        told_by = [(gpu, f"{_percent(gpu)} %: {', '.join(gpu.slowed_by)}") for gpu in slow]
        yield found(
            PROBLEM, DURING_MANY, count=len(slow), all=len(sampled.gpus), low=_percent(slow[-1]),
            high=_percent(slow[0]), reasons=_quoted({each for gpu in slow for each in gpu.slowed_by}),
            commands=("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",),
            **together(told_by, "clock event reasons"),
        )  # fmt: skip
        return
    for gpu in slow:
        yield found(
            PROBLEM, DURING, gpu=gpu.label, share=_percent(gpu), reasons=_quoted(gpu.slowed_by),
            commands=(f"nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i {gpu.index}",),
            **alone(gpu, "clock event reasons", ", ".join(gpu.slowed_by)),
        )  # fmt: skip
    if not told:
        yield Skip("no GPU told its clock event reasons" if sampled.gpus else NO_GPU)


def _worth_a_word(gpu: SampledGpu, seconds: float) -> bool:
    share = gpu.slowed_share or 0.0
    return share >= LEAST_SHARE and share * seconds >= LEAST_S


def _percent(gpu: SampledGpu) -> str:
    return f"{100 * (gpu.slowed_share or 0.0):.0f}"


def _quoted(reasons: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in sorted(reasons))

"""Judges gpu-throttled (GPU007), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, Where, found
from doctor.catalogue.words import words_of
from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_GPU, Sampled, SampledGpu

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
DURING = TOML["during"]
DURING_MANY = TOML["during_many"]


#: short names of NVML's bits; sw_power_cap, gpu_idle and applications_clocks_setting are ordinary
BAD = frozenset({"hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"})


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
                evidence=(Observed.quoted("NVML", f"clock event reasons: {', '.join(reasons)}{heat}"),),
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
        yield Skip("no GPU reported its clock event reasons" if sampled.gpus else NO_GPU)


def _worth_a_word(gpu: SampledGpu, seconds: float) -> bool:
    share = gpu.slowed_share or 0.0
    return share >= LEAST_SHARE and share * seconds >= LEAST_S


def _percent(gpu: SampledGpu) -> str:
    return f"{100 * (gpu.slowed_share or 0.0):.0f}"


def _quoted(reasons: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in sorted(reasons))

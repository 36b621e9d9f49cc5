"""Judges gpu-lost (GPU002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, Where, found
from doctor.catalogue.words import words_of
from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_EVENTS, NO_GPU, Sampled, duration

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
DURING = TOML["during"]
DURING_MANY = TOML["during_many"]


@check(PROBLEM)
def gpu_lost(gpus: Gpus) -> Judgement:
    """One finding a card that gave an error instead of readings."""
    for gpu in gpus.gpus:
        if gpu.error:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                where=Where(gpu=gpu.index),
                commands=(f"sudo nvidia-smi --gpu-reset -i {gpu.index}",),
                evidence=(Observed.quoted("NVML", gpu.error),),
            )


@check(PROBLEM)
def lost_during_the_run(sampled: Sampled) -> Judgement:
    """Cards that stopped answering while the run went on, in order of time."""
    lost = sorted(sampled.lost, key=lambda each: each.after_s)
    if len(lost) > FEW:
        told = [(each, f"{duration(each.after_s)} into the run, code {each.code}") for each in lost]
        yield found(
            PROBLEM, DURING_MANY, count=len(lost), all=len(sampled.gpus), after=duration(lost[0].after_s),
            **together(told, "NVML"),
        )  # fmt: skip
        return
    for each in lost:
        yield found(
            PROBLEM, DURING, gpu=each.label, after=duration(each.after_s), **alone(each, "NVML", f"code {each.code}")
        )
    if not sampled.gpus or not sampled.events_told:
        yield Skip(NO_EVENTS if sampled.gpus else NO_GPU)

"""Judges gpu-uncorrected-ecc (GPU004), whose words stand in the TOML beside it."""

from __future__ import annotations

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


@check(PROBLEM)
def uncorrected_ecc(gpus: Gpus) -> Judgement:
    """One finding a card; cards that do not count are skipped, not passed."""
    for gpu in gpus.that_report("ecc_uncorrected"):
        if gpu.ecc_uncorrected:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                count=gpu.ecc_uncorrected,
                where=Where(gpu=gpu.index),
                commands=(f"nvidia-smi --gpu-reset -i {gpu.index}",),
                evidence=(Observed.quoted("NVML", f"volatile uncorrected ECC count: {gpu.ecc_uncorrected}"),),
            )
    if silent := gpus.silent_about("ecc_uncorrected"):
        yield Skip(f"no ECC count from GPU {', '.join(map(str, silent))}")


@check(PROBLEM)
def uncorrected_during_the_run(sampled: Sampled) -> Judgement:
    """Cards whose count rose between the first and the last look, those with most new errors first."""
    told = [gpu for gpu in sampled.gpus if gpu.ecc_before is not None and gpu.ecc_after is not None]
    grown = sorted((gpu for gpu in told if _new(gpu) > 0), key=lambda gpu: -_new(gpu))
    if len(grown) > FEW:
        errors = f"{sum(map(_new, grown)):.0f}"
        yield found(
            PROBLEM, DURING_MANY, count=len(grown), all=len(sampled.gpus), errors=errors,
            **together([(gpu, _rose(gpu)) for gpu in grown], "NVML"),
        )  # fmt: skip
        return
    for gpu in grown:
        yield found(PROBLEM, DURING, gpu=gpu.label, count=f"{_new(gpu):.0f}", **alone(gpu, "NVML", _rose(gpu)))
    if not told:
        yield Skip("no GPU reported its ECC count" if sampled.gpus else NO_GPU)


def _new(gpu: SampledGpu) -> float:
    return (gpu.ecc_after or 0.0) - (gpu.ecc_before or 0.0)


def _rose(gpu: SampledGpu) -> str:
    return f"count rose from {gpu.ecc_before or 0:.0f} to {gpu.ecc_after or 0:.0f}"

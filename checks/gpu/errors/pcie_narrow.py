"""Judges gpu-pcie-narrow (GPU008), whose words stand in the TOML beside it."""

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
def pcie_narrow(gpus: Gpus) -> Judgement:
    """A width that is not reported (virtual machines) says nothing."""
    for gpu in gpus.gpus:
        if gpu.pcie_width and gpu.pcie_width_max and gpu.pcie_width < gpu.pcie_width_max:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                width=gpu.pcie_width,
                width_max=gpu.pcie_width_max,
                where=Where(gpu=gpu.index),
                commands=(f"nvidia-smi -q -i {gpu.index} | grep -A 12 'GPU Link Info'",),
                evidence=(Observed.quoted("NVML", f"PCIe link width {gpu.pcie_width}, greatest {gpu.pcie_width_max}"),),
            )


@check(PROBLEM)
def narrow_during_the_run(sampled: Sampled) -> Judgement:
    """Cards whose link never had all its lanes. A width that is not reported (virtual machines) says nothing."""
    narrow = sorted((gpu for gpu in sampled.gpus if _narrow(gpu)), key=lambda gpu: gpu.pcie_width or 0)
    if len(narrow) > FEW:
        yield found(
            PROBLEM, DURING_MANY, count=len(narrow), all=len(sampled.gpus),
            **together([(gpu, _width(gpu)) for gpu in narrow], "NVML"),
        )  # fmt: skip
        return
    for gpu in narrow:
        yield found(
            PROBLEM, DURING, gpu=gpu.label, width=f"{gpu.pcie_width:.0f}", most=f"{gpu.pcie_width_max:.0f}",
            **alone(gpu, "NVML", _width(gpu)),
        )  # fmt: skip
    if not sampled.gpus:
        yield Skip(NO_GPU)


def _narrow(gpu: SampledGpu) -> bool:
    return bool(gpu.pcie_width and gpu.pcie_width_max and gpu.pcie_width < gpu.pcie_width_max)


def _width(gpu: SampledGpu) -> str:
    return f"link width {gpu.pcie_width or 0:.0f} of {gpu.pcie_width_max or 0:.0f} throughout"

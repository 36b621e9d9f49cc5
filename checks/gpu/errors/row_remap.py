"""Judges gpu-row-remap (GPU003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpu, Gpus

TOML = words_of(__name__)
PROBLEM = TOML.problem
PENDING = TOML["pending"]
FAILED = TOML["failed"]


@check(PROBLEM)
def row_remap(gpus: Gpus) -> Judgement:
    """Cards before Ampere do not remap rows and report nothing: nothing to skip there."""
    for gpu in gpus.gpus:
        if gpu.row_remap_failure:
            yield found(
                PROBLEM, FAILED, gpu=gpu.label, severity=ERROR, where=Where(gpu=gpu.index), evidence=_proof(gpu)
            )
        elif gpu.row_remap_pending:
            yield found(
                PROBLEM,
                PENDING,
                gpu=gpu.label,
                where=Where(gpu=gpu.index),
                commands=(f"sudo nvidia-smi --gpu-reset -i {gpu.index}",),
                evidence=_proof(gpu),
            )


def _proof(gpu: Gpu) -> tuple[Observed, ...]:
    text = f"remapped rows: pending {gpu.row_remap_pending}, failure {gpu.row_remap_failure}"
    return (Observed.quoted("NVML", f"{text}, for uncorrectable errors {gpu.rows_remapped_uncorrectable}"),)

"""Judges gpu-mig-splits-training (GPU011), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def mig_splits_training(gpus: Gpus, launch: Launch, world: World) -> Judgement:
    """One process on a MIG instance is an ordinary use; several processes are not."""
    if not launch.trains or not world.local_processes or world.local_processes < 2:
        return
    whole = ",".join(str(gpu.index) for gpu in gpus.gpus if not gpu.mig_enabled)
    for gpu in gpus.gpus:
        if gpu.mig_enabled and _is_used(gpu, world):
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                instances=len(gpu.mig_devices),
                processes=world.local_processes,
                where=Where(gpu=gpu.index),
                commands=(f"export CUDA_VISIBLE_DEVICES={whole}", f"sudo nvidia-smi -i {gpu.index} -mig 0"),
                evidence=(Observed.quoted("NVML", f"MIG mode of GPU {gpu.index} is enabled"),),
            )


def _is_used(gpu: Gpu, world: World) -> bool:
    return world.visible_gpus is not None and gpu.index in world.visible_gpus

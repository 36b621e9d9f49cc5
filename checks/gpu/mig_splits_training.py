"""A GPU in MIG mode cannot be used whole.

## What it means
In MIG mode a card is split into instances, and a CUDA process sees only one instance of one card.
## What it does to a run
A process that expects the whole card gets one slice of its memory, and two processes cannot talk over NCCL between
slices of the same card.
## What to do
Leave the card out with `CUDA_VISIBLE_DEVICES`, or switch MIG off when it is idle.
## How it is found
NVML, MIG mode of the GPUs that a training command of several processes can see.
## References
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="GPU011", name="gpu-mig-splits-training", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{gpu} is in MIG mode with {instances} instances, and {processes} processes are to train",
        "CUDA gives a process one instance of one card only, with part of its memory and no NCCL between instances.",
        "Leave the card out of the run, or switch MIG off when the card is idle.",
    ),
    zh=Words(
        "{gpu} 处于 MIG 模式(共 {instances} 个实例),而有 {processes} 个进程要训练",
        "CUDA 只让一个进程看到一块卡的一个实例,只有部分显存,实例之间也不能使用 NCCL。",
        "训练时不要使用这块卡,或在它空闲时关闭 MIG。",
    ),
)


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
                evidence=(Evidence("NVML", f"MIG mode of GPU {gpu.index} is enabled"),),
            )


def _is_used(gpu: Gpu, world: World) -> bool:
    return world.visible_gpus is not None and gpu.index in world.visible_gpus

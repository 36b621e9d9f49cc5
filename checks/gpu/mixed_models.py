"""The command trains on GPUs of different models.

## What it means
The visible GPUs are of several models, with different memory, speed or compute capability.
## What it does to a run
Every synchronous step waits for the slowest card, the smallest memory decides the batch size, and a data type that
only the newer cards have fails on the older ones. CUDA also numbers the fastest card first unless told otherwise,
so indices differ from nvidia-smi's.
## What to do
Choose cards of one model with `CUDA_VISIBLE_DEVICES`, and set `CUDA_DEVICE_ORDER=PCI_BUS_ID` so that numbers mean
the same everywhere.
## How it is found
Names that NVML gives for the GPUs that the command can see.
## References
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
"""

from __future__ import annotations

from collections import Counter

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="GPU009", name="gpu-models-mixed", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{processes} processes on GPUs of {models} models: {names}",
        "Every step waits for the slowest card, and the card with the least memory decides the batch size.",
        "Choose cards of one model, and number them as nvidia-smi does.",
    ),
    zh=Words(
        "{processes} 个进程运行在 {models} 种型号的 GPU 上:{names}",
        "每一步都要等待最慢的卡,显存最小的卡决定批大小。",
        "请只选用同一型号的卡,并让编号与 nvidia-smi 一致。",
    ),
)


@check(PROBLEM)
def mixed_models(gpus: Gpus, launch: Launch, world: World) -> Judgement:
    """One process on one card is no matter; so only runs of several processes are judged."""
    if not launch.trains or not world.visible_gpus or not world.local_processes or world.local_processes < 2:
        return
    used = world.visible_gpus[: world.local_processes]
    names = Counter(gpu.name for gpu in gpus.gpus if gpu.index in used and gpu.name)
    if len(names) < 2:
        return
    common = names.most_common(1)[0][0]
    chosen = ",".join(str(gpu.index) for gpu in gpus.gpus if gpu.name == common)
    told = ", ".join(f"{count}x {name}" for name, count in names.items())
    yield found(
        PROBLEM,
        MESSAGE,
        processes=world.local_processes,
        models=len(names),
        names=told,
        commands=(f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={chosen}",),
        evidence=(Evidence("NVML", told),),
    )

"""Judges gpu-models-mixed (GPU009), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections import Counter

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


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
        evidence=(Observed.quoted("NVML", told),),
    )

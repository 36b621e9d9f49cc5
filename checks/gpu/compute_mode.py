"""Judges gpu-compute-mode (GPU012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
PROHIBITED = TOML["prohibited"]
EXCLUSIVE = TOML["exclusive"]


@check(PROBLEM)
def compute_mode(gpus: Gpus, launch: Launch, world: World | None) -> Judgement:
    """Judge the cards that the command can see."""
    if not (launch.trains or launch.serves):
        return
    visible = world.visible_gpus if world else None
    for gpu in gpus.gpus:
        if visible is not None and gpu.index not in visible:
            continue
        where, mode = Where(gpu=gpu.index), (Observed.quoted("NVML", f"compute mode {gpu.compute_mode}"),)
        mend = (f"sudo nvidia-smi -i {gpu.index} -c DEFAULT",)
        if gpu.compute_mode == "prohibited":
            yield found(PROBLEM, PROHIBITED, gpu=gpu.label, where=where, commands=mend, evidence=mode)
        elif gpu.compute_mode == "exclusive_process" and gpu.processes:
            yield found(
                PROBLEM, EXCLUSIVE, gpu=gpu.label, pid=gpu.processes[0].pid, severity=WARNING, where=where,
                commands=mend, evidence=mode,
            )  # fmt: skip

"""Judges gpus-hidden (LCH007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.proofs import seen_by
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM, requires=("LCH5095/visible_devices",))
def gpus_hidden(
    launch: Launch, world: World | None, gpus: Gpus, environment: Environment, training: Training | None
) -> Judgement:
    """Silent where the CPU was chosen on purpose."""
    value = environment.get("CUDA_VISIBLE_DEVICES")
    if value is None or not gpus.gpus or not (launch.trains or launch.serves):
        return
    if seen_by(world, gpus, environment) != () or (world is not None and world.backend == "cpu"):
        return
    if training is not None and (training.value("use_cpu") or not training.complete):
        return
    if launch.kind == "python" and (training is None or training.trainer is None):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        count=len(gpus.gpus),
        commands=("unset CUDA_VISIBLE_DEVICES",),
        evidence=(Observed.quoted("environment", f"CUDA_VISIBLE_DEVICES={value}"),),
    )

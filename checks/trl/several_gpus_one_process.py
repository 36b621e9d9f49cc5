"""Judges several-gpus-one-process (TRL021), whose words stand in the TOML beside it."""

from __future__ import annotations

import shlex

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Message, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import COMMAND_LINE, installed, is_grpo, is_plain_python
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
REFUSED = TOML["refused"]
WRAPPED = TOML["wrapped"]
EITHER = TOML["either"]
SPREAD = TOML["spread"]


def _message(training: Training, packages: Packages, script: Script | None) -> Message:
    """Choose what will happen: a name is loaded by TRL, an object by the script."""
    given = training.trainer_arguments.get("model")
    by_name = given is not None and given.known and isinstance(given.value, str)
    loads = script is not None and any("AutoModel" in call.origin for call in script.calls_of("from_pretrained"))
    if packages.matches("trl", "<0.26"):
        return WRAPPED
    if by_name:
        return SPREAD
    if not loads:
        return EITHER
    return REFUSED if packages.matches("trl", ">=1.15") else WRAPPED


@check(PROBLEM)
def several_gpus_one_process(
    training: Training,
    launch: Launch,
    world: World,
    environment: Environment,
    packages: Packages,
    script: Script | None,
) -> Judgement:
    """Judge plain `python` only; a launcher makes a process per GPU or is told not to."""
    if not is_grpo(training) or truth(training.value("use_cpu")):
        return
    if not is_plain_python(launch, world, environment, training):
        return
    if world.visible_gpus is None:
        yield Skip("the visible GPUs are not known")
        return
    if len(world.visible_gpus) < 2 or "device_map" in training.model_arguments:
        return
    message = _message(training, packages, script)
    again = shlex.join((launch.script or "train.py", *launch.script_args))
    yield found(
        PROBLEM,
        message,
        where=place_of(otherwise=training.trainer_place),
        evidence=(Observed.quoted(COMMAND_LINE, " ".join(launch.argv)),),
        commands=(
            f"accelerate launch --num_processes {len(world.visible_gpus)} {again}",
            f"CUDA_VISIBLE_DEVICES={world.visible_gpus[0]} {launch.program or 'python'} {again}",
        ),
        severity=ERROR if message is REFUSED else WARNING,
        confidence=LIKELY,
        count=len(world.visible_gpus),
        version=installed(packages, "trl"),
    )

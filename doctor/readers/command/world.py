"""Collects the fact `world`."""

from __future__ import annotations

from doctor.base.fact import Context, DoesNotApply, Unavailable, fact
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.training import LLAMAFACTORY, Training
from doctor.facts.visible import visible
from doctor.facts.world import World

__all__ = ["World", "collect", "visible"]


@fact(about="command")
def collect(
    context: Context,
    launch: Launch,
    accelerate_config: AccelerateConfig | None,
    deepspeed_config: DeepspeedConfig | None,
    gpus: Gpus | None,
    environment: Environment | None,
    training: Training | None,
) -> World:
    """Resolve what the launcher will start.

    Raises:
        Unavailable: the command starts no training.

    """
    if not launch.trains and (training is None or training.config_origin != LLAMAFACTORY):
        if launch.not_understood:
            raise Unavailable(launch.not_understood)
        raise DoesNotApply("the command starts no training")
    from doctor.readers.command import world_accelerate, world_others
    from doctor.readers.command.trl_config import launcher_options
    from doctor.readers.command.world_parts import Asked, gpus_left

    asked = Asked(
        launch=launch,
        options=launcher_options(launch),
        accelerate=accelerate_config,
        deepspeed=deepspeed_config,
        gpus=gpus,
        training=training,
        variables={**(environment.variables if environment else context.environ), **launch.environment},
    )
    rules = {
        "accelerate": world_accelerate.accelerate_world,
        "trl": world_accelerate.accelerate_world,
        "torchrun": world_others.torchrun_world,
        "deepspeed": world_others.deepspeed_world,
        "python": world_others.python_world,
        "swift": world_others.swift_world,
    }
    if not launch.trains:
        return World(**world_others.llamafactory_world(asked))
    if launch.kind not in rules:  # veRL and Trinity-RFT: Ray places the processes
        shown = asked.variables.get("CUDA_VISIBLE_DEVICES")
        return World(machines=None, **gpus_left(asked, shown, "CUDA_VISIBLE_DEVICES"))
    return World(**rules[launch.kind](asked))

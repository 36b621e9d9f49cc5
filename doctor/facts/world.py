"""How many processes the command makes, where, and on which GPUs: launcher options, files and variables resolved."""

from __future__ import annotations

from dataclasses import field

from doctor.core.record import record
from doctor.facts._visible import visible
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.base import Context, DoesNotApply, Setting, Unavailable, fact
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.training import Training

__all__ = ["World", "collect", "visible"]


@record
class World:
    """The process group that the command asks for; None where it cannot be told.

    Args:
        processes: world size over all machines; `processes_from` the setting that decided it (None: a default rule).
        local_processes: processes on this machine.
        machines, machine_rank: as the launcher is told.
        master_addr, master_port: rendezvous as the launcher is told; None when it picks a free port itself.
        backend: "none" (one process), "multi_gpu", "deepspeed", "fsdp", "cpu", "tpu", "megatron".
        zero_stage: DeepSpeed's stage, from JSON or accelerate YAML or training arguments.
        offload_optimizer, offload_param: "none", "cpu" or "nvme".
        mixed_precision: "no", "fp16", "bf16", "fp8" as resolved from launcher and config (the training arguments not
            yet); None where neither says it.
        visible_gpus: NVML indices that CUDA_VISIBLE_DEVICES (or accelerate's `gpu_ids`) leaves, in its order; None
            when GPUs cannot be seen; () when none is left.
        hidden_by: what narrowed them ("CUDA_VISIBLE_DEVICES", "gpu_ids", "--include").
        unknown_devices: entries of that list that match no GPU of this machine.
        order_uncertain: `visible_gpus` may be other cards: numbers are used, models are mixed, and CUDA_DEVICE_ORDER
            is not PCI_BUS_ID, so that CUDA counts the fastest first and NVML by PCI address.

    """

    processes: int | None = None
    processes_from: Setting | None = None
    local_processes: int | None = None
    machines: int | None = 1
    machine_rank: int | None = None
    master_addr: str | None = None
    master_port: int | None = None
    backend: str | None = None
    zero_stage: int | None = None
    offload_optimizer: str = "none"
    offload_param: str = "none"
    mixed_precision: str | None = None
    visible_gpus: tuple[int, ...] | None = None
    hidden_by: str | None = None
    unknown_devices: tuple[str, ...] = field(default_factory=tuple)
    order_uncertain: bool = False


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
    if not launch.trains:
        if launch.not_understood:
            raise Unavailable(launch.not_understood)
        raise DoesNotApply("the command starts no training")
    from doctor.facts import _world_accelerate, _world_others
    from doctor.facts._trl_config import launcher_options
    from doctor.facts._world_parts import Asked, gpus_left

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
        "accelerate": _world_accelerate.accelerate_world,
        "trl": _world_accelerate.accelerate_world,
        "torchrun": _world_others.torchrun_world,
        "deepspeed": _world_others.deepspeed_world,
        "python": _world_others.python_world,
        "swift": _world_others.swift_world,
    }
    if launch.kind not in rules:  # veRL and Trinity-RFT: Ray places the processes
        shown = asked.variables.get("CUDA_VISIBLE_DEVICES")
        return World(machines=None, **gpus_left(asked, shown, "CUDA_VISIBLE_DEVICES"))
    return World(**rules[launch.kind](asked))

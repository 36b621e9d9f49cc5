"""How many processes the command makes, where, and on which GPUs: launcher options, files and variables resolved."""

from __future__ import annotations

from dataclasses import field

from doctor.base.evidence import Observed
from doctor.base.record import record


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
        listed_gpus: how many GPUs that list names, where the GPUs themselves cannot be seen.
        unknown_devices: entries of that list that match no GPU of this machine.
        order_uncertain: `visible_gpus` may be other cards: numbers are used, models are mixed, and CUDA_DEVICE_ORDER
            is not PCI_BUS_ID, so that CUDA counts the fastest first and NVML by PCI address.

    """

    processes: int | None = None
    processes_from: Observed | None = None
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
    listed_gpus: int | None = None

"""Lower bounds of what training and serving hold in memory. Every number errs on the small side."""

from __future__ import annotations

from doctor.catalogue.shared.proofs import effective
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

GIB = 1024**3
HALF_BYTES = 2  # a parameter in bf16 or fp16, the least that full training or serving holds it in


def gib(size_bytes: float) -> str:
    """Size in GiB with one digit."""
    return f"{size_bytes / GIB:.1f}"


def full_parameters(model: Model, training: Training | None) -> int | None:
    """Number of parameters that are trained in full precision or halves; None with LoRA, quantization or if unknown."""
    if training is None or training.trainer is None or not training.complete:
        return None
    if training.lora is not None or training.trainer_arguments.get("peft_config") or training.get("use_peft"):
        return None
    if model.is_adapter or model.quantization or model.parameters is None or quantized_here(training):
        return None
    return model.parameters


def frozen_bytes(model: Model, training: Training | None, world: World) -> float | None:
    """Least bytes a GPU for weights that only an adapter is trained on; None without one, if offloaded or unknown."""
    if training is None or training.trainer is None or training.lora is None or quantized_here(training):
        return None
    if model.is_adapter or model.quantization or model.parameters is None or world.offload_param != "none":
        return None
    divided = world.backend == "fsdp" or (world.backend == "deepspeed" and world.zero_stage == 3)
    return model.parameters * HALF_BYTES / ((world.processes or 1) if divided else 1)


def quantized_here(training: Training) -> bool:
    """Whether the training itself loads the model quantized."""
    names = {*training.model_arguments, *training.nested, *training.arguments}
    words = ("quantization_config", "load_in_4bit", "load_in_8bit")
    return any(name.rpartition(".")[2] in words for name in names)


def gpus_of_ranks(world: World, gpus: Gpus) -> list[Gpu]:
    """GPUs that the processes of this machine will take, as far as their memory is known."""
    if not world.visible_gpus:
        return []
    wanted = world.visible_gpus[: world.local_processes or 1]
    found = [gpu for index in wanted for gpu in gpus.gpus if gpu.index == index and gpu.memory_total_bytes]
    return found if len(found) == len(wanted) and not any(gpu.mig_enabled for gpu in found) else []


def adam(training: Training, packages: Packages | None) -> bool:
    """Whether the optimizer is torch's AdamW, whose two moments are as large as the weights."""
    optimizer = effective(training, packages, "optim")
    if optimizer is None:
        return training.get("optim") is None and training.complete
    return str(optimizer.value).startswith(("adamw_torch", "default"))


def states_bytes(parameters: int, world: World) -> float | None:
    """Least bytes a GPU for weights, gradients and AdamW's moments; None where they are offloaded or not known.

    DeepSpeed in half precision holds 2 (weights) + 2 (gradients) + 12 (fp32 weights and two moments) bytes a
    parameter; stage 1 divides the 12 by the ranks, stage 2 the gradients too, stage 3 all
    (https://arxiv.org/abs/1910.02054). An offloaded optimizer leaves the weights. Everything in bf16: 8.
    """
    ranks = world.processes or 1
    if world.backend == "fsdp":
        return parameters * 8 / ranks
    if world.backend in {"none", "multi_gpu"} or (world.backend == "deepspeed" and world.zero_stage == 0):
        return parameters * 8.0
    if world.backend != "deepspeed" or world.offload_param != "none":
        return None
    if world.offload_optimizer != "none":
        return parameters * HALF_BYTES / (ranks if world.zero_stage == 3 else 1)
    shares = {1: 4 + 12 / ranks, 2: 2 + 14 / ranks, 3: 16 / ranks}
    each = shares.get(world.zero_stage or 0)
    return None if each is None else parameters * each

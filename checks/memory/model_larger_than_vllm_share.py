"""The model does not fit into the share of the GPU that vLLM may use.

## What it means
vLLM takes `gpu_memory_utilization` of each card, for weights and KV cache together. The weights, divided by tensor and
pipeline parallelism, are larger than that share.
## What it does to a run
`CUDA out of memory` while the weights are loaded, or `No available memory for the cache blocks`.
## What to do
Raise the utilization or the tensor parallel size, or serve a quantized or smaller model. `doctor fix` changes the
tensor parallel size where a file states it and a larger one divides the model and the GPUs. It changes no utilization:
under colocate the rest belongs to the trainer, and `doctor plan` computes whether both fit. Words of a command line
are yours to retype.
## How it is found
Parameters of the model's files times two bytes (the files' size where they are quantized), against NVML.
## References
https://docs.vllm.ai/en/latest/configuration/conserving_memory.html
https://huggingface.co/docs/trl/vllm_integration
"""

from __future__ import annotations

from dataclasses import dataclass

from doctor.checks.launch._helpers import effective, seen_by
from doctor.checks.memory._helpers import HALF_BYTES, gib, quantized_here
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="MEM003", name="model-larger-than-vllm-share", severity=ERROR, since="0.1")

#: no release of vLLM takes more by default (0.9, later 0.92), so what does not fit here fits nowhere
DEFAULT_SHARE = 0.92

#: of vLLM's share, what the weights may take at most of the size that is proposed: the rest is the KV cache
ROOM = 0.8
WIDER = (2, 4, 8)

MESSAGE = Message(
    en=Words(
        "vLLM may use {share} GiB of {gpu}, and its part of the weights has {need} GiB",
        "`gpu_memory_utilization` {utilization} of {total} GiB must hold weights and KV cache together. With tensor "
        "parallel size {parallel} the weights alone are larger, and the engine ends while it starts.",
        "Raise the utilization or the tensor parallel size, or use a smaller or quantized model; `doctor plan` "
        "computes what fits beside the trainer.",
    ),
    zh=Words(
        "vLLM 可用 {gpu} 的 {share} GiB,而它那部分权重有 {need} GiB",
        "{total} GiB 的 `gpu_memory_utilization` {utilization} 要同时装下权重和 KV cache。张量并行为 {parallel} 时光权"
        "重就超出,引擎启动时就会失败。",
        "提高该比例或张量并行数,或使用更小的、量化的模型;`doctor plan` 可计算与训练器一起能否放下。",
    ),
)


def _weights_bytes(model: Model, quantized_at_start: bool) -> int | None:
    """Size of the weights in memory, None where it cannot be told."""
    if quantized_at_start:
        return None
    if model.quantization:
        return model.weight_bytes
    return model.parameters * HALF_BYTES if model.parameters else None


def _wider(model: Model, need: float, share: float, parallel: int, most: int) -> int | None:
    """The smallest tensor parallel size by which the weights leave room; None where heads or processes forbid it."""
    heads, keys = model.attention_heads, model.kv_heads
    for size in WIDER:
        divides = bool(heads and keys) and not heads % size and (not keys % size or not size % keys)  # type: ignore[operator]
        if divides and size > parallel and not most % size and need / size <= share * ROOM:
            return size
    return None


@dataclass(frozen=True)
class _Size:
    """The tensor parallel size: how it is written, with a gap for another, where, and how many processes share it."""

    size: int
    written: str
    most: int
    place: Where | None = None


def _verdict(
    model: Model, need: float, utilization: float, tensor: _Size, seen: tuple[int, ...] | None, gpus: Gpus
) -> Judgement:
    visible = [gpu for gpu in gpus.gpus if gpu.index in (seen or ())]
    if not visible or any(gpu.memory_total_bytes is None or gpu.mig_enabled for gpu in visible):
        return
    largest = max(visible, key=lambda gpu: gpu.memory_total_bytes or 0)
    total = largest.memory_total_bytes or 0
    if need / tensor.size > total * utilization:
        wider = _wider(model, need, total * utilization, tensor.size, min(tensor.most, len(visible)))
        yield found(
            PROBLEM,
            MESSAGE,
            share=gib(total * utilization),
            gpu=largest.label,
            need=gib(need / tensor.size),
            utilization=utilization,
            total=gib(total),
            parallel=tensor.size,
            where=tensor.place,
            commands=(tensor.written.format(wider),) if wider else (),
            wider=wider,
            evidence=(Evidence(model.folder, f"{model.parameters} parameters"),),
        )


@check(PROBLEM)
def served_model(serving: Serving | None, model: Model, environment: Environment | None, gpus: Gpus) -> Judgement:
    """Experts may be divided by data parallelism too, so such models are left alone there."""
    if serving is None or serving.arguments.get("cpu_offload_gb") or serving.arguments.get("quantization"):
        return
    if model.experts and (serving.data_parallel_size > 1 or serving.arguments.get("enable_expert_parallel")):
        return
    need = _weights_bytes(model, bool(serving.quantization))
    utilization = serving.gpu_memory_utilization or DEFAULT_SHARE
    if need is not None:
        parallel = serving.tensor_parallel_size * serving.pipeline_parallel_size
        seen = seen_by(None, gpus, environment)
        alone = serving.pipeline_parallel_size == serving.data_parallel_size == 1
        tensor = _Size(max(parallel, 1), "--tensor-parallel-size {}", len(seen or ()) if alone else 1)
        yield from _verdict(model, need, utilization, tensor, seen, gpus)


@check(PROBLEM)
def colocated_model(
    training: Training | None, model: Model, world: World | None, gpus: Gpus, packages: Packages | None
) -> Judgement:
    """TRL's default share is 0.3 from 0.18.0."""
    if training is None or world is None or not training.value("use_vllm"):
        return
    mode = effective(training, packages, "vllm_mode")
    share = effective(training, packages, "vllm_gpu_memory_utilization")
    parallel = effective(training, packages, "vllm_tensor_parallel_size")
    if mode is None or mode.value != "colocate" or share is None or parallel is None:
        return
    need = _weights_bytes(model, quantized_here(training))
    try:
        utilization = float(str(share.value))
    except ValueError:
        return
    if need is not None and not model.is_adapter:
        size, most = max(whole(parallel.value) or 1, 1), world.local_processes or 1
        tensor = _Size(size, "vllm_tensor_parallel_size={}", most, place_of(parallel))
        yield from _verdict(model, need, utilization, tensor, world.visible_gpus, gpus)

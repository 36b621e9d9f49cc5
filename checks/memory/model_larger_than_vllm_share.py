"""Judges model-larger-than-vllm-share (MEM003), whose words stand in the TOML beside it."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.memory_bounds import HALF_BYTES, gib, quantized_here
from doctor.catalogue.shared.proofs import effective, seen_by
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: no release of vLLM takes more by default (0.9, later 0.92), so what does not fit here fits nowhere
DEFAULT_SHARE = 0.92

#: of vLLM's share, what the weights may take at most of the size that is proposed: the rest is the KV cache
ROOM = 0.8
WIDER = (2, 4, 8)


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
            evidence=(Observed.quoted(model.folder or model.stated_in, f"{model.parameters} parameters"),),
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

"""Bytes of weights, gradients and optimizer states on one GPU and on its host.

- ZeRO: https://arxiv.org/abs/1910.02054, section 3.1 (2 + 2 + 12 bytes a parameter with Adam in mixed precision) and
  section 5 (what each stage divides by the number of ranks).
- DeepSpeed adds a 32-bit copy of the gradients of its partition in the step, hence 18 instead of 16 bytes in
  `estimate_zero2_model_states_mem_needs` and `estimate_zero3_...`:
  https://deepspeed.readthedocs.io/en/latest/memory.html
- DDP's buckets are a second copy of the gradients unless `gradient_as_bucket_view` is set:
  https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
- FSDP keeps shards of weights, gradients and states, and gathers a unit at a time:
  https://docs.pytorch.org/docs/stable/fsdp.html
- 4-bit weights of bitsandbytes: half a byte, and one 32-bit scale for 64 of them, or 8 bits for 64 when quantized
  twice; embeddings and output layer stay as they are: https://arxiv.org/abs/2305.14314
"""

from __future__ import annotations

from doctor.base.record import record
from doctor.sizing.setup import Setup


@record
class States:
    """Bytes on one GPU, and on one node's host memory.

    Args:
        gradients: once a whole step's are there; `optimizer` includes 32-bit master weights.
        buckets: buffers that live all the time; `step_copy`: 32-bit gradients that live during the step only.
        gathered_low, gathered_high: weights of other ranks that are on this GPU while it computes.

    """

    weights: float
    gradients: float
    optimizer: float
    reference: float = 0
    buckets: float = 0
    step_copy: float = 0
    gathered_low: float = 0
    gathered_high: float = 0
    host: float = 0


def states_of(setup: Setup) -> States:
    """States under the strategy of a setup."""
    if setup.deepspeed:
        return _zero(setup)
    if setup.strategy.startswith("fsdp"):
        return _fsdp(setup)
    return _replicated(setup)


def base_weights(setup: Setup, width: float) -> float:
    """Bytes of all weights in `width`, less where the base model is quantized; adapters added."""
    shape = setup.shape
    adapter = setup.trained * setup.lora.width if setup.lora and not setup.deepspeed else 0
    adapter = setup.trained * width if setup.lora and setup.deepspeed else adapter
    if setup.bits is None:
        return shape.parameters * width + adapter
    packed = sum(each.parameters for each in shape.matrices if not each.expert)
    each = 0.5 + 4 / 64 if setup.bits == 4 else 1.0
    return packed * each + (shape.parameters - packed) * width + adapter


def _moments(setup: Setup, width: float) -> float:
    """Bytes of the optimizer's states for one parameter of `width`."""
    return {"adamw": 2 * width, "adamw-8bit": 2.0, "sgd": 0.0}[setup.optimizer]


def _replicated(setup: Setup) -> States:
    """Every GPU holds everything; states have the precision of the parameter they belong to."""
    width = setup.lora.width if setup.lora else setup.stored_width
    gradients = setup.trained * width
    return States(
        weights=base_weights(setup, setup.stored_width),
        gradients=gradients,
        optimizer=setup.trained * _moments(setup, width),
        reference=base_weights(setup, setup.stored_width) if setup.reference else 0,
        buckets=gradients if setup.trainers > 1 else 0,
    )


def _zero(setup: Setup) -> States:
    ranks, trained = setup.trainers, setup.trained
    width = setup.stored_width
    whole = base_weights(setup, width)
    master = 4 if width == 2 else 0
    optimizer = trained * (master + _moments(setup, 4)) / (ranks if setup.stage else 1)
    part = trained / ranks
    gradients = trained * width if setup.stage < 2 else part * width
    host = 0.0
    if setup.offload_optimizer:
        # 32-bit weights, moments and gradients of the ranks of this node lie in host memory
        host += (optimizer + part * 4) * setup.ranks_on_node
        optimizer = 0
        gradients = 0 if setup.stage >= 2 else gradients
    weights = whole / ranks if setup.stage == 3 else whole
    if setup.offload_parameters and setup.stage == 3:
        host += weights * setup.ranks_on_node
        weights = 0
    low, high = _gathered(setup, width) if setup.stage == 3 else (0.0, 0.0)
    return States(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        reference=(whole / (ranks if setup.stage == 3 else 1)) if setup.reference else 0,
        buckets=_buckets(setup, width),
        step_copy=0 if setup.offload_optimizer or width == 4 else part * 4,
        gathered_low=low,
        gathered_high=high,
        host=host,
    )


def _buckets(setup: Setup, width: float) -> float:
    """Reduction buckets: one, or two with `overlap_comm`, allocated whole when gradients are made contiguous.

    https://www.deepspeed.ai/docs/config-json/#zero-optimizations-for-fp16-training
    """
    size = setup.buffers.reduce if setup.buffers.reduce is not None else setup.shape.hidden**2
    if setup.stage == 0 or not setup.buffers.contiguous:
        return 0
    return size * width * (2 if setup.buffers.overlap else 1)


def _gathered(setup: Setup, width: float) -> tuple[float, float]:
    """Weights that ZeRO-3 has on a GPU beyond its part: at least the largest layer and what is fetched ahead.

    At most `stage3_max_live_parameters`, for what will be used again soon is not given back.
    """
    shape, buffers = setup.shape, setup.buffers
    prefetch = buffers.prefetch if buffers.prefetch is not None else int(0.9 * shape.hidden**2)
    largest = max(shape.largest_layer, shape.embedding)
    low = min(shape.parameters, largest + prefetch) * width
    return low, max(low, min(shape.parameters, buffers.max_live) * width)


def _fsdp(setup: Setup) -> States:
    ranks, shape = setup.trainers, setup.shape
    width = setup.lora.width if setup.lora else setup.stored_width
    whole = base_weights(setup, setup.stored_width)
    compute = setup.compute_width
    part = setup.trained / ranks
    optimizer, weights, gradients, host = part * _moments(setup, width), whole / ranks, part * width, 0.0
    if setup.offload_parameters or setup.offload_optimizer:  # FSDP's CPUOffload moves all three
        host = (optimizer + weights + gradients) * setup.ranks_on_node
        optimizer = weights = gradients = 0
    # the root unit (embedding, output layer, last norm) stays gathered, one layer computes, the next is fetched
    root = (shape.embedding + shape.head) * compute
    low = root + 2 * shape.largest_layer * compute
    high = low + shape.largest_layer * compute
    if setup.strategy == "fsdp-grad-op":
        low = high = shape.parameters * compute
    return States(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        reference=whole / ranks if setup.reference else 0,
        gathered_low=low,
        gathered_high=max(low, high),
        host=host,
    )


def casts(setup: Setup) -> float:
    """16-bit copies of the matrices that autocast makes.

    It keeps those of weights that are trained until the context ends. Those of frozen weights are made for each product
    anew and live while backward needs them: of all layers without checkpointing, of the one that is computed with it
    (https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/autocast_mode.cpp, `cached_cast`: leaves that require a
    gradient).
    """
    if not setup.casts:
        return 0
    if setup.lora is not None and setup.checkpointing:
        return setup.shape.linear / max(1, setup.shape.layers) * 2
    return (setup.shape.linear + setup.shape.embedding) * 2

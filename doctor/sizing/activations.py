"""Bytes that forward keeps for backward, counted over the tensors that the modules of Transformers save.

A layer of the Llama family (https://github.com/huggingface/transformers/blob/main/src/transformers/models/llama/
modeling_llama.py) saves, for each token:

- each RMSNorm: the input and the normalised input in 32 bit, and what the linear layers take;
- attention: queries, keys, values and output, and one 32-bit number a head (flash attention and torch's fused kernels
  recompute the scores: https://arxiv.org/abs/2205.14135; `eager` keeps them: heads x length, twice);
- the feed-forward part: input of the activation, its output, the other factor and their product.

The general account of what a transformer layer keeps, and of recomputing it from the layer's input:
https://arxiv.org/abs/2205.05198, sections 4 and 5.
"""

from __future__ import annotations

from doctor.base.record import record
from doctor.sizing.setup import Setup
from doctor.sizing.shape import ModelShape


@record
class Activations:
    """Bytes on one GPU for one forward and backward pass.

    Args:
        kept: alive when backward begins (without the output layer's part).
        layer: most that the recomputation of one layer makes alive, 0 without checkpointing.
        working: gradients of activations within a layer.

    """

    kept: float
    layer: float
    working: float


def activations_of(setup: Setup) -> Activations:
    """Activations of one micro batch."""
    tokens = setup.batch * setup.sequence
    shape = setup.shape
    each = layer_bytes(setup) * tokens
    residual = (4 if setup.casts else setup.compute_width) * shape.hidden * tokens
    final = _norm(setup) * shape.hidden * tokens
    working = setup.compute_width * tokens * (3 * shape.intermediate + 4 * shape.hidden)
    if setup.checkpointing:
        return Activations(residual * shape.layers + final, each, working)
    return Activations(each * shape.layers + final, 0, working)


def layer_bytes(setup: Setup) -> float:
    """Bytes that one layer keeps for one token."""
    shape, width = setup.shape, setup.compute_width
    norms = shape.norms * _norm(setup) * shape.hidden
    if setup.casts and setup.lora is None:  # autocast casts the input once for each of q, k, v, gate and up
        norms += (3 + 2 - shape.norms) * width * shape.hidden
    return norms + _attention(setup) + _feed_forward(setup) + _adapters(setup)


def _norm(setup: Setup) -> float:
    """Bytes for one element of a norm's input: 32-bit input, normalised value, and the product as it is passed on."""
    if setup.compute_width == 4:
        return 12
    return 8 + 2 if setup.casts else 4 + 2 + 2


def _attention(setup: Setup) -> float:
    shape, width = setup.shape, setup.compute_width
    # keys and values are repeated for every query head where the kernel does not group them itself
    grouped = setup.attention == "flash"
    key_value = shape.key_value if grouped else shape.query
    found = width * (2 * shape.query + 2 * key_value) + 4 * shape.heads
    if setup.attention == "eager":
        found += shape.heads * setup.sequence * (width + 4)
    if _normed_heads(shape):
        found += (8 if width == 4 else 6) * (shape.query + shape.key_value)
    return found


def _normed_heads(shape: ModelShape) -> bool:
    return shape.family.startswith(("qwen3", "gemma3", "olmo2"))


def _feed_forward(setup: Setup) -> float:
    shape, width = setup.shape, setup.compute_width
    found = 4 * width * shape.intermediate
    if (
        setup.casts and setup.lora is not None
    ):  # a frozen matrix keeps no input, and the adapter keeps a cast of its own
        found -= width * shape.intermediate
    if shape.most_experts:  # each token is copied to its experts, and their outputs are weighted
        found += 2 * width * shape.hidden * shape.most_experts + 8 * shape.hidden
    return found


def _adapters(setup: Setup) -> float:
    """What LoRA adds for one token and one layer: each adapter keeps its input in its own precision, and A's output.

    https://github.com/huggingface/peft/blob/main/src/peft/tuners/lora/layer.py, `_cast_input_dtype`
    """
    if setup.lora is None:
        return 0
    layers = max(setup.shape.layers, 1)
    places = [each for each in setup.lora.at(setup.shape) if not each.vision]
    copies = sum(each.count * each.inputs for each in places) / layers
    inner = sum(each.count * setup.lora.rank for each in places) / layers
    width = 2 if setup.autocast or setup.deepspeed else setup.lora.width
    fresh = copies if setup.casts or width != setup.compute_width else 0.0
    return width * (fresh + inner)

"""Bytes of turning hidden states into log-probabilities: the logits are often the largest tensor of a GRPO step.

- "full": TRL up to 1.14 makes logits of completions x tokens x vocabulary (`_get_per_token_logps_and_entropies`,
  https://github.com/huggingface/trl/blob/v1.9.0/trl/trainer/grpo_trainer.py). Outside DeepSpeed accelerate lifts them
  to 32 bit (`convert_outputs_to_fp32`). Backward holds logits, their softmax part, the rows' gradients and their sum:
  four times the tensor, as counted on the CPU.
- "chunked": TRL from 1.15 goes through tiles of 4,096 tokens x 32,768 entries
  (https://github.com/huggingface/trl/pull/7077), and adds the gradients up in 32 bit.
- "liger": Liger's fused loss takes one completion at a time
  (https://github.com/linkedin/Liger-Kernel/blob/main/src/liger_kernel/chunked_loss/fused_linear_ppo.py).
"""

from __future__ import annotations

from doctor.sizing.setup import Setup

TILE_TOKENS, TILE_ENTRIES = 4096, 32768
_COPIES = 4
#: 32-bit tensors of a tile's size that torch's own operators hold where there is no Triton (a CPU)
_FALLBACK = 6


def backward_bytes(setup: Setup) -> float:
    """Most bytes that the output layer holds in backward."""
    if setup.head == "full":
        tokens = setup.batch * (setup.completion_length + 1)
        return _COPIES * _logit_width(setup) * tokens * setup.shape.vocabulary
    if setup.head == "liger":
        tokens = setup.completion_length + 1
        return _COPIES * 4 * tokens * setup.shape.vocabulary + _gradients(setup)
    return _tile(setup) + _gradients(setup)


def forward_bytes(setup: Setup) -> float:
    """Most bytes without gradients: old log-probabilities and those of the reference model."""
    if setup.head in {"full", "liger"}:
        tokens = setup.batch * (setup.completion_length + 1)
        return (2 if setup.deepspeed else 6) * tokens * setup.shape.vocabulary
    return _tile(setup)


def logits_bytes(setup: Setup) -> float:
    """The tensor that "full" makes for one micro batch, once."""
    return _logit_width(setup) * setup.batch * (setup.completion_length + 1) * setup.shape.vocabulary


def _logit_width(setup: Setup) -> float:
    return setup.compute_width if setup.deepspeed and setup.mixed != "no" else 4


def _positions(setup: Setup) -> int:
    """Tokens that are scored: with Triton those of completions, else all."""
    return setup.batch * (setup.completion_length if setup.triton else setup.sequence - 1)


def _tile(setup: Setup) -> float:
    rows = min(_positions(setup), TILE_TOKENS)
    entries = min(setup.shape.vocabulary, TILE_ENTRIES)
    found = rows * TILE_ENTRIES * setup.compute_width
    if not setup.triton:
        found += _FALLBACK * 4 * rows * entries
    return found


def _gradients(setup: Setup) -> float:
    """32-bit gradients of hidden states and, where it is trained, of the output layer, with their cast copy."""
    hidden = 4 * _positions(setup) * setup.shape.hidden
    weight = 0 if setup.lora else setup.shape.embedding * (4 + (0 if setup.stored_width == 4 else 2))
    return hidden + weight

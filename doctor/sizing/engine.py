"""What vLLM holds: weights, working memory, and the KV cache that fills the rest of its share.

- The cache is what remains of `gpu_memory_utilization` x memory after weights, the peak of a trial run and what lies
  outside torch (https://github.com/vllm-project/vllm/blob/main/vllm/v1/worker/gpu_worker.py,
  `determine_available_memory`).
- A token's keys and values: 2 x layers x key heads x head width (https://arxiv.org/abs/2309.06180, section 3); tensor
  parallelism divides the heads, and repeats them once there are more ranks than heads.
- Latent attention keeps one compressed vector, which every rank holds whole (https://arxiv.org/abs/2405.04434).
- Sleep of level 2 gives weights and cache back, level 1 moves the weights to the host
  (https://docs.vllm.ai/en/latest/features/sleep_mode/).
"""

from __future__ import annotations

from doctor.base.record import record
from doctor.sizing.setup import GIB, Setup

#: TRL's `max_num_batched_tokens` for a colocated engine (trl/generation/vllm_generation.py)
TRIAL_TOKENS = 4096
SERVER_SHARE = 0.9  # vLLM's default `gpu_memory_utilization`
SERVER_SEQUENCES = 256
_OUTSIDE_BYTES = 0.5 * GIB  # CUDA graphs' and attention kernels' workspaces: assumed


@record
class EngineMemory:
    """One GPU of an engine.

    Args:
        share: bytes that it may take; `weights`, `working`, `cache` make it up (cache is negative when it cannot be).
        token: cache bytes of a token; `tokens`: how many fit on the GPUs of one replica.
        sequences: completions that fit at once with prompt and completion in full; `wanted`: how many are asked for.
        host: bytes on the host for weights that sleep there.

    """

    share: float
    weights: float
    working: float
    cache: float
    token: float
    tokens: int
    sequences: int
    wanted: int
    tensor_parallel: int
    replicas: int
    longest: int


def engine_of(setup: Setup) -> EngineMemory | None:
    """The engine of a setup; None when the trainer generates itself."""
    if setup.rollout.engine == "none":
        return None
    return of(setup, setup.rollout.tensor_parallel)


def of(setup: Setup, ranks: int) -> EngineMemory:
    """The engine with so many GPUs for one copy of the weights."""
    shape, rollout = setup.shape, setup.rollout
    colocated = rollout.engine == "colocate"
    weights = shape.parameters * 2 / ranks
    share = setup.hardware.gpu_bytes * rollout.share
    wanted = wanted_sequences(setup, ranks)
    running = wanted if colocated else min(wanted, SERVER_SEQUENCES)
    # the widest layer's input and outputs in 16 bit; the sampler's scores in 32 bit and their sorted copy
    working = TRIAL_TOKENS * (4 * shape.hidden + 3 * shape.intermediate / ranks) * 2 + running * shape.vocabulary * 8
    cache = share - weights - working - _OUTSIDE_BYTES
    token = cache_per_token(setup, ranks)
    tokens = max(0, int(cache / token)) if token else 0  # a damaged configuration may name no heads or layers
    longest = rollout.max_model_length or setup.sequence
    return EngineMemory(
        share=share,
        weights=weights,
        working=working + _OUTSIDE_BYTES,
        cache=cache,
        token=token,
        tokens=tokens,
        sequences=tokens // setup.sequence,
        wanted=wanted,
        tensor_parallel=ranks,
        replicas=max(1, setup.trainers // ranks) if colocated else rollout.data_parallel,
        longest=longest,
    )


def cache_per_token(setup: Setup, ranks: int) -> float:
    """Cache bytes of a token on one GPU, in 16 bit."""
    shape = setup.shape
    if shape.cache_elements < 2 * shape.layers * shape.key_value:  # latent: nothing to divide
        return shape.cache_elements * 2.0
    return shape.cache_elements * 2 * max(1, -(-shape.kv_heads // ranks)) / shape.kv_heads


def wanted_sequences(setup: Setup, ranks: int) -> int:
    """Completions that one replica is given at once."""
    own = setup.batch * setup.generation_steps
    if setup.rollout.engine == "colocate":
        return own * ranks
    return -(-own * setup.trainers // max(1, setup.rollout.data_parallel))


def possible_ranks(shape_heads: int, kv_heads: int, most: int) -> list[int]:
    """Sizes of tensor parallelism that the heads allow: vLLM divides the query heads evenly."""
    return [
        each
        for each in range(1, most + 1)
        if shape_heads % each == 0 and (kv_heads % each == 0 or each % kv_heads == 0)
    ]

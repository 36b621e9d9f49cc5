"""The GPU memory ran out when weights went from the trainer to the rollout engine.

## What it means
For the transfer sharded parameters are gathered, and the engine's memory is woken up while the trainer's still lies
there.
## What it does to a run
Training and generation each fit; the change between them does not.
## What to do
Offload the trainer before the engine wakes, leave the engine less, gather in smaller portions.
## How it is found
The exception of torch's allocator, and the phase that its traceback tells.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, finding, told
from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM013", name="weight-sync-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory while weights were handed to the rollout engine: {asked} more wanted{of}{free}",
        "For the transfer the shards are gathered into whole tensors, while the engine's memory "
        "wakes up beside the trainer's.",
        "Lower the engine's `gpu_memory_utilization`; in veRL set `fsdp_config.param_offload=True` "
        "and `optimizer_offload=True`, keep `free_cache_engine=True` and lower "
        "`update_weights_bucket_megabytes`; in TRL colocate set `vllm_enable_sleep_mode=True` or a "
        "lower `vllm_gpu_memory_utilization`.",
    ),
    zh=Words(
        "把权重交给 rollout 引擎时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "传输时会把分片聚合成完整张量,同时引擎的显存在训练器旁边被唤醒。",
        "降低引擎的 `gpu_memory_utilization`;veRL 中设置 `fsdp_config.param_offload=True` 与 "
        "`optimizer_offload=True`,保持 `free_cache_engine=True`,减小 "
        "`update_weights_bucket_megabytes`;TRL colocate 中设置 `vllm_enable_sleep_mode=True` 或更低的"
        " `vllm_gpu_memory_utilization`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "sync") else None

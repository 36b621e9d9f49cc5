"""The GPU memory ran out when the KV cache was allocated.

## What it means
vLLM measured what is free and sized its cache; when it took the memory, something else had taken it meanwhile, or
the share was set too high.
## What it does to a run
The engine ends right after weights and profiling.
## What to do
Lower the share, or keep other processes off the card.
## How it is found
The exception of torch's allocator, and the phase that its traceback tells.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, finding, told
from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM010", name="kv-cache-allocation-failed", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory while allocating the KV cache: {asked} more wanted{of}{free}",
        "The engine sizes the cache by `gpu_memory_utilization` of the whole card. Another process, "
        "or the trainer in the same process, has taken memory that it counted on.",
        "Lower `gpu_memory_utilization` (TRL `vllm_gpu_memory_utilization`, veRL "
        "`rollout.gpu_memory_utilization`), end what else holds the GPU (`nvidia-smi`), and start "
        "engines that share a card one after the other.",
    ),
    zh=Words(
        "分配 KV cache 时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "引擎按整张卡的 `gpu_memory_utilization` 确定缓存大小,而其他进程或同一进程中的训练模型占用了这部分显存。",
        "降低 `gpu_memory_utilization`(TRL `vllm_gpu_memory_utilization`,veRL "
        "`rollout.gpu_memory_utilization`),结束占用该 GPU 的其他进程(`nvidia-smi`),并依次启动共用一张"
        "卡的引擎。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits) if told(hits, "kv") else None

"""The GPU memory is so full that torch empties its cache again and again.

## What it means
When no block is free, torch gives cached memory back to the driver (cudaFree) and asks anew, which waits for
the whole GPU. DeepSpeed counts that after each step and warns.
## What it does to a run
Steps take longer, often by a third and more, at first only those with long sequences.
## What to do
Less memory a step.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/zero/stage3.py
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PRF008", name="allocator-flushes", severity=WARNING, since="0.1", ends_run=False)

SIGNATURES = (
    Signature(
        r"(?P<flushes>\d{1,6}) pytorch allocator cache flushes since last step\.",
        kind="warning",
        contributes_to=("MEM006", "MEM007", "MEM008", "MEM015", "MEM016"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "torch emptied its memory cache during steps: {messages} reports, up to {flushes} times in a step",
        "The GPU is nearly full. Each flush gives memory back to the driver and waits for all kernels. That "
        "costs time in every step, and it is the last stop before out of memory.",
        "Lower what a step needs: a smaller micro batch with more gradient accumulation, shorter "
        "sequences or completions, gradient checkpointing, a larger ZeRO stage or offload, a smaller "
        "`vllm_gpu_memory_utilization` where an engine shares the GPU. "
        "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` helps where lengths vary (not with vLLM "
        "sleep mode). Calling `get_accelerator().empty_cache()` on all ranks at the same step at least "
        "aligns the waits.",
    ),
    zh=Words(
        "torch 在训练步中清空了显存缓存:报告 {messages} 次,一步最多 {flushes} 次",
        "显存几乎已满。每次清空都把显存还给驱动并等待所有内核。这使每一步都变慢,也是显存不足之前的最后一步。",
        "降低每步所需显存:更小的 micro batch 配合更多梯度累积,更短的序列或回答,gradient checkpointing,更"
        "高的 ZeRO 阶段或 offload;与引擎共用 GPU 时减小 `vllm_gpu_memory_utilization`。长度变化大时 "
        "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` 有帮助(不要与 vLLM sleep 模式同用)。在所有 "
        "rank 的同一步调用 `get_accelerator().empty_cache()` 至少能使等待对齐。",
    ),
)

#: messages below which it is an odd long batch; DeepSpeed itself minds only what happens often
_OFTEN = 5


def explain(hits: Hits) -> Finding | None:
    """Silent where single flushes are hours apart."""
    most = max(int(each.groups["flushes"]) for each in hits)
    if hits.count < _OFTEN and most == 1:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        flushes=most,
        messages=hits.count,
    )

"""The GPU memory ran out in vLLM's profiling run.

## What it means
Before it sizes the KV cache vLLM runs one batch of the largest size it may ever see, with max_num_batched_tokens
tokens and max_num_seqs sequences to sample.
## What it does to a run
The server ends before it has a cache.
## What to do
Allow smaller batches.
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

PROBLEM = Problem(id="MEM011", name="profile-run-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory in vLLM's trial run: {asked} more wanted{of}{free}",
        "vLLM first runs the largest batch it allows, `max_num_batched_tokens` tokens and "
        "`max_num_seqs` sampled sequences. That did not fit beside the weights and what else is on "
        "the card.",
        "Lower `max_num_seqs` and `max_num_batched_tokens`, shorten `max_model_len`, free the card "
        "of other processes, or spread the weights with a larger `tensor_parallel_size`.",
    ),
    zh=Words(
        "vLLM 试运行时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "vLLM 先运行所允许的最大批次,即 `max_num_batched_tokens` 个 token 与 `max_num_seqs` 条采样序"
        "列。它无法与权重及卡上其他内容同时放下。",
        "降低 `max_num_seqs` 与 `max_num_batched_tokens`,缩短 `max_model_len`,清理卡上其他进程,或用更"
        "大的 `tensor_parallel_size` 分摊权重。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "profile") else None

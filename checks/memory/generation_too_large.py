"""The GPU memory ran out while completions were generated.

## What it means
The KV cache of generate() grows with every token of every sequence of the batch; an engine's sampler needs room for
logits of all running sequences.
## What it does to a run
Short completions work, a long batch ends the run.
## What to do
Fewer sequences at once, shorter completions, or vLLM for generation.
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

PROBLEM = Problem(id="MEM014", name="generation-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory during generation: {asked} more wanted{of}{free}",
        "The cache of keys and values grows with every token of every sequence in the batch, beside "
        "weights, gradients and optimizer states.",
        "Generate fewer sequences at once (`per_device_train_batch_size`, `num_generations`), "
        "shorten `max_completion_length`, or let vLLM generate (`use_vllm=True`); in an engine lower "
        "`max_num_seqs`.",
    ),
    zh=Words(
        "生成回复时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "键值缓存随批次中每条序列的每个 token 增长,且与权重、梯度和优化器状态同在。",
        "一次生成更少的序列(`per_device_train_batch_size`、`num_generations`),缩短 "
        "`max_completion_length`,或用 vLLM 生成(`use_vllm=True`);在引擎中降低 `max_num_seqs`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "generate") else None

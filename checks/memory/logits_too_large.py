"""The GPU memory ran out while logits became log-probabilities.

## What it means
Logits have one number per token and word of the vocabulary: batch x length x 150,000 in float32, several copies of
it.
## What it does to a run
The pass that scores completions fails although the model's own forward pass fitted.
## What to do
Fewer sequences per pass, shorter completions, or a fused loss (Liger) that never builds the whole tensor.
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

PROBLEM = Problem(id="MEM007", name="logits-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory while scoring tokens: {asked} more wanted for logits{of}{free}",
        "Logits hold one number per token and vocabulary entry, in float32 and several copies. That "
        "tensor, not the model, is what did not fit.",
        "{knobs} In TRL `use_liger_kernel=True` (older: `use_liger_loss=True`) avoids building the "
        "logits; in veRL `use_fused_kernels=True` and `entropy_from_logits_with_chunking=True`.",
    ),
    zh=Words(
        "计算 token 概率时显存不足:logits 还需要 {asked}{of_zh}{free_zh}",
        "logits 为每个 token 与词表中每个词各存一个数,使用 float32 且有多份拷贝。放不下的是这个张量,而不是模型。",
        "{knobs_zh}TRL 中 `use_liger_kernel=True`(旧版 `use_liger_loss=True`)可避免生成 logits;veRL "
        "中设置 `use_fused_kernels=True` 与 `entropy_from_logits_with_chunking=True`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "logits") else None

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
https://docs.sglang.io/references/faq.html
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

SGLANG = Message(
    en=Words(
        "SGLang ran out of memory while it served: {asked} more wanted{of}{free}",
        "The pool of keys and values holds a fixed share of the card; activations and logits of one batch "
        "did not fit into the rest. Log-probabilities of long prompts need the most.",
        "Lower `--mem-fraction-static` (0.8 or 0.7). Where it happened while prompts were read, lower "
        "`--chunked-prefill-size` (4096 or 2048); while tokens were generated, `--max-running-requests`.",
    ),
    zh=Words(
        "SGLang 在服务请求时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "键值缓存池占用显卡的固定份额;一个批次的激活与 logits 放不进剩余部分。长提示的对数概率占用最多。",
        "降低 `--mem-fraction-static`(0.8 或 0.7)。若发生在读取提示时,降低 `--chunked-prefill-size`"
        "(4096 或 2048);若在生成 token 时,降低 `--max-running-requests`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    if not told(hits, "generate"):
        return None
    serves = any("sglang/srt/managers/" in frame for hit in hits for frame in hit.frames)
    return finding(PROBLEM, SGLANG if serves else LOG_MESSAGE, hits, CONFIRMED)

"""SGLang's memory pool holds too little.

## What it means
`--mem-fraction-static` of the free memory is for weights and KV cache together. What remains after the weights
is the pool of tokens; `--max-running-requests` slots share it.
## What it does to a run
The server does not start, or its scheduler ends while it serves.
## What to do
A larger share, less to hold, or fewer requests at once.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.sglang.ai/advanced_features/hyperparameter_tuning.html
https://github.com/sgl-project/sglang/issues/322
https://github.com/sgl-project/sglang/pull/15802
https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/srt/arg_groups/fields/exec_.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM022", name="sglang-pool-too-small", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Not enough memory\. Please try to increase --mem-fraction-static",
    ),
    Signature(
        r"alloc_req_slots runs out of memory",
    ),
    Signature(
        r"(?P<phase>Prefill|Decode) out of memory\. Try to lower your batch size",
    ),
    Signature(
        r"RuntimeError: Out of memory\. (?P<phase>Try to lower) your batch size\b",
    ),
    Signature(
        r"AssertionError: (?:Memory pool size is too small|max_running_request is zero"
        r"|Not enough space for mamba cache)",
    ),
    Signature(
        r"(?:ValueError: Failed to retract any request\. |AssertionError: )(?P<phase>No space left for only "
        r"one request)",
    ),
    Signature(
        r"max_total_tokens=\d{1,12} is larger than the profiled value (?P<negative>-\d{1,12})",
    ),
    Signature(
        r"The memory capacity is unbalanced\. (?P<other>Some GPUs may be occupied by other processes)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "SGLang has no memory left for the KV cache inside `--mem-fraction-static`",
        "That share of the GPU holds weights and KV cache together. The weights (and a draft model) "
        "already take it, so that no pool of tokens remains; what CUDA graphs and activations need lies "
        "outside of the share.",
        "Raise `--mem-fraction-static` in steps (0.85, 0.9; lower it again when an out of memory comes "
        "during capture or serving). If both fail, the weights are too large: more GPUs (`--tp`), a "
        "quantized checkpoint, `--kv-cache-dtype fp8_e5m2`, a smaller `--context-length`, no draft "
        "model, `--disable-cuda-graph` or a smaller `--cuda-graph-max-bs` (`--cuda-graph-max-bs-decode` "
        "in newer releases). Under a trainer end other "
        "processes on the GPU first.",
    ),
    zh=Words(
        "SGLang 在 `--mem-fraction-static` 之内没有显存留给 KV cache",
        "这一份显存同时存放权重与 KV cache。权重(及草稿模型)已将其占满,没有剩余的 token 池;CUDA graph 与"
        "激活在该份额之外。",
        "逐步提高 `--mem-fraction-static`(0.85、0.9;若捕获或服务时显存不足再降低)。若两者都失败,说明权重"
        "过大:增加 GPU(`--tp`)、使用量化检查点、`--kv-cache-dtype fp8_e5m2`、减小 `--context-length`、不"
        "用草稿模型、`--disable-cuda-graph` 或减小 `--cuda-graph-max-bs`(新版为 "
        "`--cuda-graph-max-bs-decode`)。与训练共用时先结束该 GPU 上的其"
        "他进程。",
    ),
)

LOG_MESSAGE_SERVING = Message(
    en=Words(
        "SGLang's scheduler ran out of slots or tokens while serving",
        "More requests were admitted than the pool holds: `--max-running-requests` slots and the tokens "
        "of the KV cache are shared by all of them, and a long prefill or speculative decoding takes "
        "more than was foreseen.",
        "Lower `--max-running-requests`, `--chunked-prefill-size` or the number of requests that the "
        "client sends at once (rollout batch), raise `--mem-fraction-static` or "
        "`--schedule-conservativeness`, and upgrade SGLang: several releases leaked slots.",
    ),
    zh=Words(
        "SGLang 的调度器在服务过程中用尽了请求槽或 token",
        "接纳的请求超过了池的容量:所有请求共享 `--max-running-requests` 个槽和 KV cache 的 token,较长的 "
        "prefill 或投机解码占用超出预期。",
        "降低 `--max-running-requests`、`--chunked-prefill-size` 或客户端同时发送的请求数(rollout 批大小"
        "),提高 `--mem-fraction-static` 或 `--schedule-conservativeness`,并升级 SGLang:若干版本存在槽泄漏"
        "。",
    ),
)

LOG_MESSAGE_UNBALANCED = Message(
    en=Words(
        "the GPUs of one SGLang server have very different free memory",
        "Tensor parallelism needs the same room on every card, and another process occupies one of them "
        "(a trainer, a server of an earlier run).",
        "Look at `nvidia-smi`, end the process that holds the memory or choose other cards with "
        "CUDA_VISIBLE_DEVICES (`--base-gpu-id`). Where it is wanted (colocated training), set "
        "`SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0` (before SGLang 0.5.7 "
        "`SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1`) and a smaller `--mem-fraction-static`.",
    ),
    zh=Words(
        "同一 SGLang 服务器的各 GPU 空闲显存相差很大",
        "张量并行要求每张卡有相同空间,而其中一张被其他进程占用(训练进程或先前运行的服务器)。",
        "查看 `nvidia-smi`,结束占用显存的进程,或用 CUDA_VISIBLE_DEVICES(`--base-gpu-id`)选择其他卡。若属"
        "预期(与训练共用),设置 `SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0`(SGLang 0.5.7 之前为 "
        "`SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1`)并减小 `--mem-fraction-static`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """At the start, while serving, or because of another process."""
    message = LOG_MESSAGE
    if hits.get("other"):
        message = LOG_MESSAGE_UNBALANCED
    elif hits.get("phase") or any(hit.signature == 1 for hit in hits):
        message = LOG_MESSAGE_SERVING
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

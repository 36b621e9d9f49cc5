"""FlashInfer's attention kernel does not fit this GPU and the model's heads.

## What it means
The kernel keeps tiles of queries, keys and values in shared memory. Large heads (256, 512, MLA) need more of it than
Turing (64 KiB) or consumer cards (about 100 KiB) have; of some cards a release of FlashInfer knows nothing yet.
## What it does to a run
The engine ends while it captures graphs, or with the first request.
## What to do
Take another attention backend; leave the KV cache in 16 bit, since fp8 selects FlashInfer; upgrade FlashInfer within
what the engine allows.
## How it is found
In a log, by FlashInfer's own message.
## References
https://github.com/sgl-project/sglang/issues/4196
https://github.com/flashinfer-ai/flashinfer/issues/926
https://github.com/vllm-project/vllm/issues/50331
https://github.com/vllm-project/vllm/pull/55380
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL097", name="flashinfer-kernel-unfit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Error in function '(?P<function>(?:Batch|Single)(?:Prefill|Decode)\w{1,60})' at [^\n]{1,300}: "
        r"(?:Unsupported max_mma_kv|FlashInfer Internal Error: Invalid configuration)"
    ),
    Signature(
        r"(?P<function>(?:Batch|Single)(?:Prefill|Decode)With\w{1,60}) failed with error "
        r"(?:invalid argument|invalid resource handle|no kernel image)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "FlashInfer's kernel `{function}` cannot run on this GPU with this model",
        "Its tiles for heads of this size do not fit into the GPU's shared memory (64 KiB on Turing, about 100 KiB on "
        "consumer cards), or this release of FlashInfer has no way for the card. Weights and requests are "
        "not to blame.",
        "Take another attention backend: vLLM `--attention-backend TRITON_ATTN` or `FLASH_ATTN` (older vLLM: "
        "`VLLM_ATTENTION_BACKEND`), SGLang `--attention-backend triton`. Leave `--kv-cache-dtype` at auto, for fp8 "
        "selects FlashInfer. A newer `flashinfer-python` may know the card, within what the engine pins.",
    ),
    zh=Words(
        "FlashInfer 的内核 `{function}` 无法在此 GPU 上用于此模型",
        "它为这种大小的注意力头准备的分块放不进 GPU 的共享内存(Turing 为 64 KiB,消费级显卡约 100 KiB),或该版本的 "
        "FlashInfer 不支持这张卡。与权重和请求无关。",
        "换用其他注意力后端:vLLM 用 `--attention-backend TRITON_ATTN` 或 `FLASH_ATTN`(旧版 vLLM:"
        "`VLLM_ATTENTION_BACKEND`),SGLang 用 `--attention-backend triton`。`--kv-cache-dtype` 保持 auto,因为 fp8 "
        "会选用 FlashInfer。在引擎允许的范围内,更新的 `flashinfer-python` 可能支持该卡。",
    ),
)

LOG_CONFIDENCE = LIKELY

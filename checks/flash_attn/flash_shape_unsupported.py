"""FlashAttention has no kernel for the heads of this model on this GPU.

## What it means
Its kernels end at a head size of 256, and backward with dropout above 192 needs the large GPUs.
## What it does to a run
RuntimeError in the first forward or backward pass.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://github.com/Dao-AILab/flash-attention#cuda-support
https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/csrc/flash_attn/flash_api.cpp
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FLA011", name="flash-shape-unsupported", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"RuntimeError: FlashAttention forward only supports head dimension at most (?P<most>\d{2,4})",
        Message(
            en=Words(
                "FlashAttention takes heads of {most} at most, and the model's are larger",
                "Models with a larger `head_dim` in some layers (512 in global layers, vision towers) cannot run "
                "with it.",
                '`attn_implementation="sdpa"` (or `"eager"`), LLaMA-Factory `flash_attn: sdpa`, ms-swift '
                "`--attn_impl sdpa`; no packing or padding-free then.",
            ),
            zh=Words(
                "FlashAttention 的 head 大小最多为 {most},而该模型更大",
                "部分层 `head_dim` 更大的模型(全局层为 512、视觉塔)无法使用它。",
                '`attn_implementation="sdpa"`(或 `"eager"`),LLaMA-Factory `flash_attn: sdpa`,ms-swift '
                "`--attn_impl sdpa`;此时不能用 packing 或 padding-free。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: FlashAttention backward for head dim > (?P<most>\d{2,4})(?: and dropout)? "
            r"?(?:with dropout )?requires A100"
        ),
        Message(
            en=Words(
                "the backward pass of FlashAttention with heads above {most} needs an A100 or H100",
                "Consumer and inference GPUs have too little shared memory for it; Gemma's heads are 256.",
                "`attention_dropout=0` with flash-attn 2.5.5 or newer lifts it where dropout is named in the "
                'message; otherwise `attn_implementation="sdpa"` (or `"eager"`).',
            ),
            zh=Words(
                "head 大于 {most} 时 FlashAttention 的反向需要 A100 或 H100",
                "消费级与推理 GPU 的共享内存不够;Gemma 的 head 为 256。",
                "若消息中提到 dropout,用 `attention_dropout=0` 与 flash-attn 2.5.5 或更新即可;否则 "
                '`attn_implementation="sdpa"`(或 `"eager"`)。',
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)

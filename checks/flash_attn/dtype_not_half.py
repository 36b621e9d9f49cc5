"""FlashAttention is given fp32.

## What it means
FlashAttention-2 and -3 compute in fp16 and bf16 only. A model that was loaded in fp32, or layers that were
cast back (norms, LoRA in fp32, a value head), hand it fp32.
## What it does to a run
The first forward pass ends with a RuntimeError.
## What to do
Load the model in bf16, or compute under autocast.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/Dao-AILab/flash-attention#how-to-use-flashattention
https://github.com/unslothai/unsloth/issues/827
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="FLA008", name="dtype-not-half", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"FlashAttention only support(?:s)? fp16 and bf16 data type"),)

LOG_MESSAGE = Message(
    en=Words(
        "FlashAttention was handed fp32 tensors; it computes in fp16 and bf16 only",
        "The model was loaded without `dtype` (fp32), or some layers were cast back to fp32, and no "
        "autocast is active at that call, as in generation.",
        "Load it with `dtype=torch.bfloat16` (`torch_dtype` in older Transformers; "
        '`model_init_kwargs={{"dtype": "bfloat16"}}` in TRL), train with `bf16=True`, or take '
        '`attn_implementation="sdpa"`.',
    ),
    zh=Words(
        "FlashAttention 收到了 fp32 张量;它只支持 fp16 和 bf16",
        "模型加载时没有指定 `dtype`(fp32),或部分层被转回 fp32,且该调用处没有 autocast(例如生成时)。",
        "用 `dtype=torch.bfloat16` 加载(旧版 Transformers 为 `torch_dtype`;TRL 为 "
        '`model_init_kwargs={{"dtype": "bfloat16"}}`),用 `bf16=True` 训练,或使用 '
        '`attn_implementation="sdpa"`。',
    ),
)

"""Gradient accumulation by `no_sync` meets ZeRO 2 or 3.

## What it means
ZeRO 2 and 3 partition gradients during the backward pass, which cannot be put off. DeepSpeed 0.16 and newer
refuse `no_sync`; accelerate and Transformers that are older still enter it, and so do scripts of their own.
## What it does to a run
The first accumulated step raises AssertionError.
## What to do
Upgrade accelerate and Transformers, or let DeepSpeed count the accumulation.
## How it is found
In a log: by DeepSpeed's assertion.
## References
https://github.com/deepspeedai/DeepSpeed/issues/6793
https://github.com/huggingface/transformers/issues/34984
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP026", name="no-sync-under-zero", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: no_sync context manager is incompatible with gradient partitioning logic of"
        r" ZeRO stage (?P<stage>\d)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`no_sync` was entered under ZeRO stage {stage}, which cannot put off the reduction",
        "Gradients are partitioned as they arise; DeepSpeed 0.16 and newer refuse to put that off. An "
        "older accelerate or Transformers, or the script itself, still asks for it when it accumulates "
        "gradients.",
        "Upgrade both: `pip install -U accelerate transformers`; in your own loop call `engine.backward` "
        "and `engine.step` for every micro batch and set `gradient_accumulation_steps` in the DeepSpeed "
        "JSON; or stay with `deepspeed<0.16`.",
    ),
    zh=Words(
        "在 ZeRO stage {stage} 下进入了 `no_sync`,而它必须在每次反向传播时归约梯度",
        "梯度在产生时就被切分;DeepSpeed 0.16 及以上拒绝推迟。较旧的 accelerate、Transformers 或脚本本身在"
        "累积梯度时仍会请求。",
        "升级两者:`pip install -U accelerate transformers`;自己的循环中对每个微批调用 `engine.backward` "
        "和 `engine.step`,并在 DeepSpeed JSON 中设置 `gradient_accumulation_steps`;或停留在 "
        "`deepspeed<0.16`。",
    ),
)

LOG_COMMANDS = ("pip install -U accelerate transformers",)

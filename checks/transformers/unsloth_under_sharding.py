"""Unsloth's kernels meet weights that are sharded.

## What it means
Unsloth's fused LoRA and loss kernels read the weights of modules themselves, past the module calls at which FSDP and
ZeRO-3 gather them, and find a shard or nothing.
## What it does to a run
The first forward or backward raises about sizes or storage.
## What to do
Train with Unsloth on plain data parallel, or shard without Unsloth.
## How it is found
In a log: by torch's words about sizes, below Unsloth's kernels.
## References
https://github.com/unslothai/unsloth/pull/11132
https://github.com/unslothai/unsloth/issues/409
https://docs.unsloth.ai/basics/multi-gpu-training-with-unsloth
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF043", name="unsloth-under-sharding", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^RuntimeError: (?:size mismatch, got input \(|mat2 must be a matrix, got 1-D|setStorage: sizes |"
        r"The size of tensor a \(0\) must match|[^\n]{0,200}out of bounds for storage of size 0)",
        frame=r"unsloth[\\/]kernels[\\/]",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Unsloth's kernels met a weight that FSDP or ZeRO-3 holds in shards",
        "They read the weights of LoRA layers directly, not by the module call at which the sharding "
        "gathers them, and so find one rank's part, or nothing. Unsloth makes its kernels for weights that "
        "are whole on each GPU.",
        "Use Unsloth with plain data parallel (`torchrun --nproc-per-node N` or `accelerate launch` "
        "without FSDP and ZeRO-3, each GPU with the whole model; 4-bit to fit) or on one GPU. To shard, "
        "leave Unsloth out and use TRL with PEFT and FSDP or DeepSpeed ZeRO. Newer releases decline their "
        "kernels under FSDP: `pip install -U --no-deps unsloth unsloth_zoo`.",
    ),
    zh=Words(
        "Unsloth 的内核遇到了被 FSDP 或 ZeRO-3 分片的权重",
        "它们直接读取 LoRA 层的权重,而不经过分片聚合权重时的模块调用,因此只看到某个 rank 的一部分或空张量。"
        "Unsloth 的内核要求每张 GPU 上有完整权重。",
        "用普通数据并行运行 Unsloth(`torchrun --nproc-per-node N` 或不带 FSDP、ZeRO-3 的 `accelerate "
        "launch`,每张 GPU 放完整模型;放不下则用 4-bit),或单 GPU。若要分片,不用 Unsloth,改用 TRL 加 PEFT 与"
        " FSDP 或 DeepSpeed ZeRO。较新版本在 FSDP 下会停用其内核:`pip install -U --no-deps unsloth "
        "unsloth_zoo`。",
    ),
)

LOG_CONFIDENCE = LIKELY

"""The number of tokens does not divide by the tensor parallel size of Megatron.

## What it means
Sequence parallelism cuts the tokens of a micro batch into as many equal parts as there are tensor parallel
ranks. What packs the sequences has to pad their number to a multiple, of twice the context parallel size too.
## What it does to a run
The first forward pass that meets such a batch fails.
## What to do
A release that pads for this model, or no sequence parallelism.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/verl-project/verl/issues/3296
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/tensor_parallel/mappings.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL022", name="sequence-not-padded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: First dimension of the tensor should be divisible by tensor parallel size",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the tokens of a micro batch are not divisible by the tensor parallel size",
        "Megatron with sequence parallelism (`sequence_parallel=True`, which goes with a tensor parallel "
        "size above 1) splits the first dimension over the ranks. This path did not pad the packed "
        "sequence to a multiple of it: fused kernels, mbridge, multi-token prediction, or a model that "
        "this release does not pad for.",
        "Try `actor_rollout_ref.model.use_fused_kernels=False`, keep `use_remove_padding=True`, and set "
        "`actor_rollout_ref.actor.megatron.sequence_parallel=False` or the tensor parallel size to 1 "
        "(spread by pipeline or expert parallelism) to see which it is. Upgrade veRL, Megatron-Core and "
        "mbridge together. In your own code pad the length to a multiple of the tensor parallel size "
        "(twice the context parallel size times it).",
    ),
    zh=Words(
        "micro batch 的 token 数不能被张量并行大小整除",
        "启用序列并行(`sequence_parallel=True`,张量并行大于 1 时使用)的 Megatron 会把第一维切分到各 rank"
        "。此路径没有把打包序列填充到其倍数:融合内核、mbridge、多 token 预测,或该版本未为此模型做填充。",
        "尝试 `actor_rollout_ref.model.use_fused_kernels=False`,保持 `use_remove_padding=True`,并把 "
        "`actor_rollout_ref.actor.megatron.sequence_parallel` 设为 False 或把张量并行设为 1(改用流水线或"
        "专家并行)以确认原因。一起升级 veRL、Megatron-Core 与 mbridge。自己的代码中请把长度填充到张量并行"
        "大小的倍数(再乘以两倍上下文并行大小)。",
    ),
)

LOG_CONFIDENCE = LIKELY

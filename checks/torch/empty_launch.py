"""A CUDA kernel was started with an impossible grid.

## What it means
A kernel needs at least one block and at most so many threads. A batch of zero tokens asks for an empty
grid.
## What it does to a run
The process ends with `invalid configuration argument`.
## What to do
Do not hand it an empty batch.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
https://github.com/sgl-project/sglang/issues/3304
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR015", name="cuda-empty-launch", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"CUDA error: invalid configuration argument"),
    Signature(r"(?P<kernel>\w{2,60}) failed with error code invalid configuration argument"),
)

LOG_MESSAGE = Message(
    en=Words(
        "{kernel} was started on an empty or oversized batch",
        "CUDA refuses a launch with zero blocks or too many threads. The usual reason is an empty "
        "tensor: a data-parallel rank that is idle and gets zero tokens, an empty prompt or mask, a last "
        "batch without samples.",
        "Keep empty batches away: with SGLang switch `--enable-dp-attention` off or leave CUDA graphs "
        "on, and upgrade it (newer releases skip empty tensors); in own code test `tensor.numel() > 0` "
        "first. If the sizes are huge instead, make the batch smaller.",
    ),
    zh=Words(
        "{kernel} 在空的或过大的批次上启动",
        "CUDA 拒绝零个 block 或线程过多的启动。通常是空张量造成的:数据并行中空闲的 rank 得到零个 token、"
        "空的 prompt 或掩码、没有样本的最后一个批次。",
        "避免空批次:SGLang 请关闭 `--enable-dp-attention` 或保持启用 CUDA graph,并升级(新版本会跳过空张量"
        ");自己的代码先检查 `tensor.numel() > 0`。若尺寸过大,则减小批次。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The kernel is not always named."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        kernel=f"`{hits.get('kernel')}`" if hits.get("kernel") else "a CUDA kernel",
    )

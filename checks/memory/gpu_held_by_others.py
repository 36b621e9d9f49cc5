"""The GPU memory ran out because other processes hold most of the card.

## What it means
torch tells how large the card is, how much is free and how much of it this process has. The rest belongs to others: a
run that was not ended, an inference server, another user's job, or another process of the same job on the same GPU.
## What it does to a run
The process ends at its first larger allocation, whatever its own settings are.
## What to do
Free the card, use another one, or give the other process of the job a GPU of its own.
## How it is found
The figures in torch's message: others hold more than half of the card, and this process less than a third.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
https://github.com/Alibaba-NLP/ZeroSearch/issues/11
https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDACachingAllocator.cpp
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, held_by_others
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM033", name="gpu-held-by-others", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of GPU memory: other processes hold {others} GiB of the card's {total}, this one {own}",
        "What this process asked for is small beside that, so its own batch and lengths are not to blame. The memory "
        "belongs to a run that was not ended, an inference or judge server on the same GPU, another user, or another "
        "process of this job (several Ray workers or ranks on one card).",
        "`nvidia-smi` lists who is on the card (in a container on the host): end what is left over (`kill PID`), or "
        "take a free GPU: `CUDA_VISIBLE_DEVICES`. Where it is a server or another worker of the same job, give it a "
        "GPU of its own, lower its `gpu_memory_utilization`, and see that every rank uses its own card "
        "(`torch.cuda.set_device(local_rank)`, the GPUs that Ray hands out).",
    ),
    zh=Words(
        "显存不足:其他进程占用了显卡 {total} GiB 中的 {others} GiB,本进程仅 {own} GiB",
        "相比之下本进程的需求很小,因此原因不在自身的批次与长度。占用者是没有结束的运行、同一 GPU 上的推理或评判服务、"
        "其他用户,或本作业的其他进程(多个 Ray worker 或 rank 挤在一张卡上)。",
        "`nvidia-smi` 列出卡上的进程(容器内请在宿主机查看):结束残留进程(`kill PID`),或改用空闲 "
        "GPU:`CUDA_VISIBLE_DEVICES`。若是同一作业的服务或 worker,为其分配单独的 GPU,降低其 `gpu_memory_utilization`,并"
        "确认每个 rank 使用自己的卡(`torch.cuda.set_device(local_rank)`、Ray 分配的 GPU)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the figures tell it."""
    held = held_by_others(hits)
    if held is None:
        return None
    others, own, total = (f"{each:.1f}" for each in held)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        others=others, own=own, total=total, commands=("nvidia-smi",),
    )  # fmt: skip

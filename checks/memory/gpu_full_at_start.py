"""CUDA cannot even make its context, because the GPU is full.

## What it means
The driver, not torch's allocator, reports out of memory: some hundred MiB for a context are not there.
## What it does to a run
The process ends with its first CUDA call.
## What to do
Find out who holds the card.
## How it is found
`CUDA error: out of memory` and CUBLAS_STATUS_ALLOC_FAILED, where no pinned memory is asked for.
## References
https://docs.nvidia.com/cuda/cublas/#cublasstatus-t
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM021", name="gpu-full-at-start", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^(?:torch\.)?(?:RuntimeError|AcceleratorError): (?:CUDA|HIP) error: out of memory"),
    Signature(r"CUDA error: (?:CUBLAS_STATUS_ALLOC_FAILED when calling `?cublasCreate|HIPBLAS_STATUS_ALLOC_FAILED)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the GPU is too full for CUDA itself to start work on it",
        "Not torch's allocator but the driver or cuBLAS was refused memory: the card is filled by "
        "other processes, by vLLM's share, or by this process up to the last MiB.",
        "Look at `nvidia-smi` for other or left-over processes and end them, choose another GPU with "
        "`CUDA_VISIBLE_DEVICES`, or lower `gpu_memory_utilization` and the batch so that some "
        "hundred MiB stay free.",
    ),
    zh=Words(
        "GPU 已满,CUDA 自身都无法在其上开始工作",
        "被拒绝的不是 torch 的分配器,而是驱动或 cuBLAS:显卡被其他进程、vLLM 的份额或本进程占满。",
        "用 `nvidia-smi` 查找并结束其他或遗留进程,用 `CUDA_VISIBLE_DEVICES` 选择其他 GPU,或降低 "
        "`gpu_memory_utilization` 与批次,留出几百 MiB。",
    ),
)


_PINNED = ("allocate_cpu_cache", "pin_memory", "swap_in", "cpu_offload", "swap_tensor")


def explain(hits: Hits) -> Finding | None:
    """None where the traceback asks for pinned host memory: another problem with the same words."""
    if any(word in frame for hit in hits for frame in hit.frames for word in _PINNED):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

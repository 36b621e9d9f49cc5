"""NCCL found no GPU memory for its own buffers.

## What it means
NCCL allocates some hundred MiB per communicator outside of torch's allocator.
## What it does to a run
The first collective ends with an unhandled CUDA error, whose reason is only in NCCL's own warning.
## What to do
Leave NCCL room.
## How it is found
NCCL's warning about CUDA failure 2.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC013", name="no-memory-left-for-nccl", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Cuda failure (?:2 )?'?out of memory"),)

#: page-locked memory of the host that is refused reads the same
LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "NCCL got no GPU memory for its buffers",
        "The card is full: vLLM's share (`gpu_memory_utilization`) or torch's cache leaves no room "
        "for the few hundred MiB that NCCL takes per communicator, outside of torch's allocator.",
        "Lower `gpu_memory_utilization` (for example 0.95 to 0.85), lower the batch so that 1 GiB "
        "stays free, or set `NCCL_BUFFSIZE=1048576` and `NCCL_MAX_NCHANNELS=4` for smaller buffers.",
    ),
    zh=Words(
        "NCCL 无法为自己的缓冲区申请显存",
        "显卡已满:vLLM 的份额(`gpu_memory_utilization`)或 torch 的缓存没有为 NCCL 每个通信域所需的几"
        "百 MiB 留出空间,而这些不在 torch 的分配器之内。",
        "降低 `gpu_memory_utilization`(例如 0.95 改为 0.85),减小批次以留出 1 GiB,或设置 "
        "`NCCL_BUFFSIZE=1048576` 与 `NCCL_MAX_NCHANNELS=4` 使缓冲更小。",
    ),
)

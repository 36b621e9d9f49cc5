"""CUDA says out of memory, and it is pinned host memory that was refused.

## What it means
cudaHostAlloc reports the same error as GPU memory. Pinned memory is limited under WSL 2 and by the locked-memory
limit.
## What it does to a run
vLLM's swap cache or DeepSpeed's offload buffers cannot be made, with a GPU nearly empty.
## What to do
Ask for less pinned memory or allow more.
## How it is found
`CUDA error: out of memory` below a function that allocates pinned memory.
## References
https://docs.nvidia.com/cuda/wsl-user-guide/index.html#known-limitations-for-linux-cuda-applications
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="MEM020", name="pinned-memory-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:torch\.)?(?:RuntimeError|AcceleratorError): CUDA error: out of memory",
        frame="allocate_cpu_cache|pin_memory|swap_in|_pin\\b|cpu_offload|swap_tensor",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "pinned host memory was refused, which CUDA reports as out of memory",
        "The traceback asks for page-locked RAM (the CPU swap cache of vLLM, or offload buffers), "
        "not for GPU memory. WSL 2 allows only part of the RAM to be pinned, and containers limit "
        "locked memory.",
        "Lower `swap_space` (`--swap-space 0` or 1), turn `pin_memory` off "
        "(`offload_optimizer.pin_memory: false`, `dataloader_pin_memory=False`), raise `ulimit -l`, "
        "or give WSL more memory in `.wslconfig`.",
    ),
    zh=Words(
        "锁页主机内存申请被拒绝,CUDA 把它报成显存不足",
        "调用栈申请的是锁页内存(vLLM 的 CPU swap cache 或卸载缓冲),而不是显存。WSL 2 只允许锁定部分内"
        "存,容器也限制锁定内存。",
        "降低 `swap_space`(`--swap-space 0` 或 1),关闭 `pin_memory`(`offload_optimizer.pin_memory: "
        "false`、`dataloader_pin_memory=False`),提高 `ulimit -l`,或在 `.wslconfig` 中给 WSL 更多内存"
        "。",
    ),
)

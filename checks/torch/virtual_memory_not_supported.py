"""Expandable segments are asked for where the GPU has no virtual memory management.

## What it means
`expandable_segments:True` (which unsloth and others set by themselves) and vLLM's sleep mode use CUDA's virtual
memory management. Virtual GPUs without unified memory switched on, some containers, WSL and Jetson do not give it.
## What it does to a run
The first allocation on the GPU fails with `operation not supported`.
## What to do
Turn expandable segments off, or switch the feature on in the hypervisor.
## How it is found
In a log: by the driver's error, which torch passes on.
## References
https://github.com/unslothai/unsloth/issues/1446
https://docs.nvidia.com/grid/latest/grid-vgpu-user-guide/index.html
https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR048", name="virtual-memory-not-supported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"CUDA (?P<side>driver )?error: operation not supported\b(?! on)", symptom_of=("NCC019", "FSD")),
)

LOG_MESSAGE = Message(
    en=Words(
        "the GPU refused an operation, most likely CUDA's virtual memory, unsupported here",
        "Expandable segments of torch's allocator (`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, which "
        "unsloth sets on import) and vLLM's sleep mode need virtual memory management. A virtual GPU (GRID, "
        "vGPU) without it, some containers, WSL and Jetson refuse. Memory shared between processes (CUDA IPC, "
        "peer access) is refused there in the same words.",
        "Turn it off before torch is imported: `export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False` "
        "(newer torch: `PYTORCH_ALLOC_CONF`), remove the line that sets it in the script, and in vLLM leave "
        "`enable_sleep_mode` off. On a vGPU have the administrator switch unified memory on "
        "(`pciPassthru0.cfg.enable_uvm = 1`, `vgpu_params`), or take a whole GPU. For IPC: "
        "`NCCL_P2P_DISABLE=1`, `NCCL_CUMEM_ENABLE=0`.",
    ),
    zh=Words(
        "GPU 拒绝了此处不支持的操作,多半是 CUDA 虚拟内存管理",
        "torch 分配器的 expandable segments(`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`,unsloth 导入时会"
        "自动设置)与 vLLM 的 sleep 模式需要虚拟内存管理。没有开启它的虚拟 GPU(GRID、vGPU)、部分容器、WSL 与 "
        "Jetson 会拒绝。进程间共享显存(CUDA IPC、peer access)在那里也以同样的话被拒绝。",
        "在导入 torch 之前关闭:`export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False`(新版 "
        "torch:`PYTORCH_ALLOC_CONF`),删除脚本中设置它的行;vLLM 不要开启 `enable_sleep_mode`。vGPU 请管理员开启"
        "统一内存(`pciPassthru0.cfg.enable_uvm = 1`、`vgpu_params`),或改用整卡。IPC 的情况:`NCCL_P2P_DISABLE=1`"
        "、`NCCL_CUMEM_ENABLE=0`。",
    ),
)

LOG_CONFIDENCE = LIKELY

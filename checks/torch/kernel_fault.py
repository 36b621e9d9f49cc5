"""A CUDA kernel crashed.

## What it means
A kernel read or wrote outside of its memory, or the card stopped it. Kernels run later than the line that
starts them, so the traceback need not show which it was.
## What it does to a run
The process cannot use CUDA any more and ends; ranks that wait for it time out.
## What to do
Find the kernel with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer; look for Xid messages; change the version
of the component.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
https://docs.vllm.ai/en/latest/usage/troubleshooting/
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR013", name="cuda-kernel-fault", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:CUDA error|Triton Error \[CUDA\]): (?:an )?(?P<what>illegal memory access|misaligned address|illegal"
        r" instruction|unspecified launch failure|invalid program counter|hardware stack error|operation not"
        r" supported on global/shared address space|invalid memory address)",
        symptom_of=("NCC008", "GPU002", "GPU004", "TOR012", "FLA010"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a CUDA kernel crashed: {what}",
        "A bug of a kernel (of vLLM, an attention library, NCCL, or an own extension), sizes that it was "
        "not written for, or a failing card. The call in the traceback is only where it surfaced; every "
        "later CUDA call of the process fails, and other ranks wait for it in vain.",
        "Run once with CUDA_LAUNCH_BLOCKING=1 to see the call (`compute-sanitizer` for the kernel), and look for "
        "`NVRM: Xid` in `dmesg`. Then change one thing: upgrade vLLM, NCCL (`nvidia-nccl-cu12`, CUDA 13: `-cu13`) or "
        "flash-attn; another attention backend; `--enforce-eager` without CUDA graphs; another GPU.",
    ),
    zh=Words(
        "某个 CUDA 内核崩溃:{what}",
        "可能是内核的缺陷(vLLM、注意力库、NCCL 或自写扩展)、它不支持的尺寸,或显卡故障。调用栈中的位置只是"
        "错误浮现之处;该进程之后的 CUDA 调用都会失败,其他 rank 会白白等待。",
        "用 CUDA_LAUNCH_BLOCKING=1 再运行一次以看到真正的调用(内核用 `compute-sanitizer`),并在 `dmesg` 中查找 `NVRM: "
        "Xid`。然后逐项更换:升级 vLLM、NCCL(`nvidia-nccl-cu12`,CUDA 13 为 `-cu13`)或 flash-attn;换注意力后端;用 "
        "`--enforce-eager` 关闭 CUDA graph;换一张 GPU。",
    ),
)

LOG_COMMANDS = ("CUDA_LAUNCH_BLOCKING=1",)

LOG_CONFIDENCE = LIKELY

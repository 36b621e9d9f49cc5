"""GPU memory could not be had, and torch failed while it wrote the message.

## What it means
For the text of an out-of-memory error torch asks NVML how much memory is free. Where NVML gives no answer (Jetson,
MIG slices, some vGPUs and containers, a driver that was updated without a reboot) an internal assertion takes the
place of the message.
## What it does to a run
The process ends with an assertion that asks to be reported to PyTorch, and says nothing of memory.
## What to do
Treat it as out of memory: lower what the step needs. Mend NVML to see the figures.
## How it is found
In a log: by torch's assertion in CUDACachingAllocator.cpp.
## References
https://github.com/pytorch/pytorch/issues/185240
https://github.com/pytorch/pytorch/issues/112377
https://github.com/fal-ai/fal/pull/478
https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDACachingAllocator.cpp
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="MEM032", name="allocation-failed-nvml-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"NVML_SUCCESS == (?:r|DriverAPI::get\(\)->nvml\w{1,40}\([^\n]{0,80}\)) INTERNAL ASSERT FAILED at "
        r"[^\n]{1,200}CUDACachingAllocator\.cpp"
    ),
    Signature(r"NvMapMemAllocInternalTagged: \d{1,12} error 12"),
)

LOG_MESSAGE = Message(
    en=Words(
        "GPU memory ran out, and NVML, which torch asks for the figures, did not answer",
        "torch could not allocate, wanted to say how much memory is free, and its question to NVML failed: "
        "that is the assertion. NVML is missing or does not know memory on Jetson and other boards with "
        "unified memory, in MIG slices and some virtual GPUs, and after a driver update without a reboot. It "
        "is no defect to report: the memory is what was short.",
        "Use less: a smaller batch and sequence length, `gradient_checkpointing=True`, LoRA or 4-bit "
        "quantization, a smaller model, a lower `gpu_memory_utilization`; free what other processes hold. On "
        "Jetson (CPU and GPU share the RAM) close other programs, drop caches (`sudo sysctl "
        "vm.drop_caches=3`), add swap or zram. Where `nvidia-smi` itself fails, reboot or mend the driver "
        "first.",
    ),
    zh=Words(
        "显存不足,而 torch 用来查询数字的 NVML 没有应答",
        "torch 无法分配显存,想说明剩余多少时向 NVML 的查询失败,于是触发该断言。Jetson 等统一内存的板卡、MIG 切"
        "片、部分虚拟 GPU,以及更新驱动后未重启时,NVML 缺失或不提供显存信息。这不是需要上报的缺陷:真正的问题是内"
        "存不足。",
        "减少用量:更小的批次与序列长度、`gradient_checkpointing=True`、LoRA 或 4-bit 量化、更小的模型、更低的 "
        "`gpu_memory_utilization`;释放其他进程占用的显存。在 Jetson 上(CPU 与 GPU 共用内存)关闭其他程序、清理缓"
        "存(`sudo sysctl vm.drop_caches=3`)、增加 swap 或 zram。若 `nvidia-smi` 本身失败,先重启或修复驱动。",
    ),
)

LOG_CONFIDENCE = LIKELY

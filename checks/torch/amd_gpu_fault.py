"""A kernel faulted on an AMD GPU, or the driver reset the card.

## What it means
The AMD driver stopped a program whose kernel touched memory that is not its own, or took the card for hung and reset
it.
## What it does to a run
The process aborts; after a reset everything on that GPU is lost.
## What to do
Find the kernel with the calls made one after another; update ROCm, the kernel driver and the attention library; look
at the card.
## How it is found
In a log: by the words of the HSA runtime and of the kernel's amdgpu driver.
## References
https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html
https://github.com/ROCm/ROCR-Runtime
https://docs.kernel.org/gpu/amdgpu/debugging.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR050", name="amd-gpu-fault", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"Memory access fault by GPU node-(?P<gpu>\d{1,3})|HW Exception by GPU node-(?P<hung>\d{1,3})|HSA_"
            r"STATUS_ERROR_(?:EXCEPTION|MEMORY_APERTURE_VIOLATION|ILLEGAL_INSTRUCTION)|\[gfxhub0?\] (?:no-retr"
            r"y )?page fault|HIP error: (?:an illegal memory access was encountered|unspecified launch failure)"
        ),
        Message(
            en=Words(
                "a kernel on an AMD GPU touched memory that is not its own, or hung, and was stopped",
                "A defect of a kernel (attention, quantization, a custom one), sizes it was not written for, a "
                "build for another gfx target or an HSA_OVERRIDE_GFX_VERSION that does not suit the card, or "
                "ROCm user space and kernel driver of different releases. The call that shows it need not be "
                "the one that caused it.",
                "Run once with `AMD_SERIALIZE_KERNEL=3 HIP_LAUNCH_BLOCKING=1` to see the call. Then change one "
                "thing: another attention backend, without HSA_OVERRIDE_GFX_VERSION, without torch.compile and "
                "graphs (`--enforce-eager`), newer ROCm and `amdgpu-dkms` of one release, another GPU. `dmesg "
                "-T | grep amdgpu` tells of resets and RAS errors of the card.",
            ),
            zh=Words(
                "AMD GPU 上的内核访问了不属于它的内存或挂起,被中止",
                "内核(注意力、量化或自写内核)的缺陷、不支持的尺寸、为其他 gfx 目标的构建或不适合该卡的 "
                "HSA_OVERRIDE_GFX_VERSION,或 ROCm 用户态与内核驱动版本不同。显示错误的调用不一定是起因。",
                "用 `AMD_SERIALIZE_KERNEL=3 HIP_LAUNCH_BLOCKING=1` 再运行一次以看到真正的调用。然后逐项更换:其"
                "他注意力后端、去掉 HSA_OVERRIDE_GFX_VERSION、关闭 torch.compile 与 graph(`--enforce-eager`)、"
                "同一版本的新 ROCm 与 `amdgpu-dkms`、换一张 GPU。`dmesg -T | grep amdgpu` 可看到复位与 RAS 错误"
                "。",
            ),
        ),
    ),
    (
        (
            r"\bamdgpu [\w:.]{4,20}: amdgpu: (?:GPU reset begin!|ring \S{1,40} timeout|GPU reset\(\d{1,4}\) (?"
            r":succeeded|failed)|uncorrectable hardware errors? detected)|\[drm:amdgpu_job_timedout|amdgpu_job"
            r"_timedout \[amdgpu\]\] \*ERROR\*"
        ),
        Message(
            en=Words(
                "the kernel's amdgpu driver took the AMD GPU for hung and reset it",
                "A job on the card ran into the driver's time-out, or the card reported an error. The reset "
                "ends everything that ran on it; processes see lost devices or memory faults afterwards.",
                "`dmesg -T | grep amdgpu` shows what came first: a page fault (a kernel's defect), a ring "
                "time-out (a hang) or RAS errors (the card's memory). Update ROCm, `amdgpu-dkms` and the "
                "firmware to one release; look at power, heat and PCIe; a card that resets with different "
                "programs goes to the vendor. Resume on another GPU (`HIP_VISIBLE_DEVICES`) from the last "
                "checkpoint.",
            ),
            zh=Words(
                "内核的 amdgpu 驱动认为 AMD GPU 已挂起并将其复位",
                "卡上的任务超过驱动时限,或卡报告了错误。复位会结束其上的一切;进程随后会看到设备丢失或内存错误。",
                "`dmesg -T | grep amdgpu` 显示最先发生的是什么:页错误(内核缺陷)、ring 超时(挂起)或 RAS 错误(显"
                "存)。把 ROCm、`amdgpu-dkms` 与固件更新到同一版本;检查供电、温度与 PCIe;运行不同程序都会复位的"
                "卡请联系厂商。用其他 GPU(`HIP_VISIBLE_DEVICES`)从最近的检查点继续。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

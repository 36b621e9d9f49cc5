"""The CUDA library that is loaded does not go with the kernel's driver.

## What it means
Error 804 means that a compatibility package (cuda-compat, in many containers) is used on a card that does
not allow it: only data-centre cards do. Error 803 means that libcuda and the kernel module are of different
versions.
## What it does to a run
torch finds no GPU; every CUDA call fails.
## What to do
Take the foreign libcuda out of the path, or reboot after a driver upgrade.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.nvidia.com/deploy/cuda-compatibility/
https://github.com/gpustack/gpustack/issues/1254
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CUD012", name="driver-pair-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Error (?P<code>804): forward compatibility was attempted on non supported HW"),
    Signature(
        r"Error (?P<code>803): (?:unsupported display driver / cuda driver combination|system has"
        r" unsupported display driver)",
    ),
    Signature(
        r"CUDA error: (?:forward compatibility was attempted on non supported HW|system has unsupported display driver)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the libcuda that was loaded does not go with this machine's driver",
        "Code 804: a compatibility package (`cuda-compat`, /usr/local/cuda/compat) lies in front of the "
        "driver's own library, and only data-centre cards may use it. Code 803: library and kernel "
        "module are of different versions, usually after an upgrade without a reboot.",
        "Take `/usr/local/cuda*/compat` out of LD_LIBRARY_PATH (or `apt-get remove 'cuda-compat-*'` in "
        "the image), use an image for the driver's CUDA, or update the host's driver; after an upgrade "
        "reboot or reload the nvidia modules. `nvidia-smi` shows both versions.",
    ),
    zh=Words(
        "加载的 libcuda 与本机驱动不相配",
        "804:兼容包(`cuda-compat`,/usr/local/cuda/compat)排在驱动自己的库之前,而只有数据中心显卡才允许使"
        "用。803:库与内核模块版本不同,通常是升级后没有重启。",
        "从 LD_LIBRARY_PATH 去掉 `/usr/local/cuda*/compat`(或在镜像中 `apt-get remove 'cuda-compat-*'`),"
        "使用与驱动 CUDA 相符的镜像,或更新宿主机驱动;升级后重启或重新加载 nvidia 模块。`nvidia-smi` 会显"
        "示两个版本。",
    ),
)

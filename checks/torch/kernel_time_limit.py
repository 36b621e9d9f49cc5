"""A kernel ran longer than the driver allows on a GPU that drives a display.

## What it means
Where a desktop runs on the card, the driver ends kernels that hold it for more than a few seconds, so that the screen
stays alive. On Windows it is the TDR limit.
## What it does to a run
The process loses its CUDA context and ends.
## What to do
Give the display another GPU, work without a desktop, lift the limit, or make the kernels shorter.
## How it is found
In a log: by the CUDA error.
## References
https://github.com/numba/numba/issues/9381
https://nvidia.custhelp.com/app/answers/detail/a_id/3029/~/using-cuda-and-x
https://learn.microsoft.com/en-us/windows-hardware/drivers/display/tdr-registry-keys
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR054", name="kernel-time-limit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"CUDA error: the launch timed out and was terminated|CUDA_ERROR_LAUNCH_TIMEOUT|cudaErrorLaunchTim"
        r"eout"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a kernel ran longer than the driver's time limit: the GPU also drives a display",
        "On a card with a desktop (X, Wayland, Windows) the driver ends a kernel that holds it for some "
        "seconds, so that the screen stays alive. On a card without a display it means that the kernel hung, "
        "or that the card is failing.",
        "Use another GPU for the display or for the run (`CUDA_VISIBLE_DEVICES`), or run headless (`sudo "
        'systemctl isolate multi-user.target`). To lift the limit on Linux add `Option "Interactive" "0"` to '
        "the Device section of xorg.conf; on Windows raise TdrDelay in the registry. Smaller batches and "
        "sequences make the kernels shorter. Without a display look for `NVRM: Xid` in `dmesg` and try another "
        "card.",
    ),
    zh=Words(
        "内核运行时间超过驱动限制:该 GPU 同时驱动显示器",
        "在带桌面(X、Wayland、Windows)的显卡上,驱动会终止占用数秒的内核以保证屏幕响应。若该卡没有接显示器,则说"
        "明内核挂起或显卡有故障。",
        "让显示或训练使用另一张 GPU(`CUDA_VISIBLE_DEVICES`),或在无桌面模式下运行(`sudo systemctl isolate "
        'multi-user.target`)。Linux 上可在 xorg.conf 的 Device 段加 `Option "Interactive" "0"` 取消限制'
        ";Windows 上在注册表中增大 TdrDelay。更小的批次与序列可缩短内核。没有显示器时,在 `dmesg` 中查找 `NVRM: "
        "Xid` 并换一张卡。",
    ),
)

LOG_CONFIDENCE = LIKELY

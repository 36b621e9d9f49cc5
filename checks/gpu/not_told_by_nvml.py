"""The program asks NVML for a figure that this GPU does not tell.

## What it means
Boards on which CPU and GPU share one memory (DGX Spark GB10, Jetson, GH200 in part), MIG slices and virtual GPUs
answer some questions with Not Supported: memory in use, power, clocks, NVLink.
## What it does to a run
A program that does not expect it ends: monitoring, a memory check before the start, a profiler.
## What to do
Upgrade the program, or ask torch instead of NVML.
## How it is found
In a log: by the exception of pynvml (nvidia-ml-py).
## References
https://docs.nvidia.com/dgx/dgx-spark/known-issues.html
https://github.com/snowflakedb/ArcticTraining/pull/345
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="GPU023", name="not-told-by-nvml", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"NVMLError_(?P<kind>NotSupported|FunctionNotFound|NoPermission): ?[^\n]{0,40}"),
    Signature(
        r"NVMLError_(?P<driver>DriverNotLoaded|LibraryNotFound|Uninitialized|Unknown)\b",
        symptom_of=("GPU", "CUD", "TOR", "VLL"),
    ),
)

NO_DRIVER = Message(
    en=Words(
        "NVML reaches no NVIDIA driver in this process ({driver})",
        "The library (libnvidia-ml.so.1) is missing, its kernel module is not loaded, or it lost the devices. A "
        "container that was started without GPUs or without the capability utility has no NVML, nor have AMD, "
        "Ascend and CPU machines; in a running container `Unknown` often means that systemd took the devices away "
        "(`daemon-reload`).",
        "Run `nvidia-smi` on the host, then inside: mend the host's driver first (`sudo modprobe nvidia`, reboot "
        "after an upgrade). Containers: `--gpus all`, `-e NVIDIA_DRIVER_CAPABILITIES=compute,utility`; start one "
        "anew that lost its devices. Without NVIDIA GPUs uninstall `nvidia-ml-py` and `pynvml`, or choose the "
        "device by name (vLLM: a build for that platform).",
    ),
    zh=Words(
        "NVML 在该进程中找不到 NVIDIA 驱动({driver})",
        "库(libnvidia-ml.so.1)缺失、内核模块未加载,或失去了设备。启动时没有 GPU 或没有 utility 能力的容器没有 "
        "NVML,AMD、昇腾与 CPU 机器也没有;运行中的容器出现 `Unknown` 多为 systemd 收回了设备(`daemon-reload`)。",
        "先在宿主机再在容器内运行 `nvidia-smi`:先修复宿主机驱动(`sudo modprobe nvidia`,升级后重启)。容器:`--gpus "
        "all`、`-e NVIDIA_DRIVER_CAPABILITIES=compute,utility`;失去设备的容器请重新启动。没有 NVIDIA GPU 时卸载 "
        "`nvidia-ml-py` 与 `pynvml`,或按名称选择设备(vLLM:该平台的构建)。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "NVML does not report what the program asked for on this GPU ({kind})",
        "Not every card tells everything. On boards with unified memory (DGX Spark with GB10, Jetson) NVML has "
        "no memory figures, and `nvidia-smi` shows `Not Supported` there too; MIG slices and virtual GPUs hide "
        "power, clocks and utilization. `FunctionNotFound` means a driver older than the bindings. The GPU "
        "itself is in order.",
        "Upgrade the program that asks (newer releases catch this: vLLM, accelerate, torch), or the driver for "
        "`FunctionNotFound`. In own code catch `pynvml.NVMLError` and take `torch.cuda.mem_get_info()` or "
        "`psutil.virtual_memory()` for memory; turn the monitoring off where it is only that (`report_to`, "
        "wandb: `WANDB__DISABLE_STATS=true`).",
    ),
    zh=Words(
        "NVML 在此 GPU 上不提供程序所查询的信息({kind})",
        "并非每张卡都提供所有信息。统一内存的板卡(DGX Spark 的 GB10、Jetson)上 NVML 没有显存数字,`nvidia-smi` "
        "也显示 `Not Supported`;MIG 切片与虚拟 GPU 会隐藏功耗、时钟与利用率。`FunctionNotFound` 表示驱动比绑定"
        "库旧。GPU 本身正常。",
        "升级发出查询的程序(较新的 vLLM、accelerate、torch 会处理此异常),`FunctionNotFound` 则升级驱动。自己的"
        "代码中捕获 `pynvml.NVMLError`,显存改用 `torch.cuda.mem_get_info()` 或 `psutil.virtual_memory()`;若只是"
        "监控,可将其关闭(`report_to`,wandb:`WANDB__DISABLE_STATS=true`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """No driver at all, or a question that this card does not answer."""
    driver = hits.get("driver")
    return found(
        PROBLEM, NO_DRIVER if driver else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        driver=driver or "", kind=hits.get("kind") or "",
    )  # fmt: skip

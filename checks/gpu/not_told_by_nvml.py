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

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="GPU023", name="not-told-by-nvml", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"NVMLError_(?P<kind>NotSupported|FunctionNotFound|NoPermission): ?[^\n]{0,40}"),)

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

"""vLLM finds no device that its build can run on.

## What it means
At import vLLM asks which platform it is on: NVML for CUDA, amdsmi for ROCm, the name of its own build for
CPU. When none answers it has no device type.
## What it does to a run
The server or `LLM(...)` ends before anything is loaded.
## What to do
On a machine with a GPU make the driver visible; on one without install the CPU build.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/getting_started/installation/
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/device.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL030", name="vllm-device-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: Failed to infer device type"),
    Signature(r"^RuntimeError: Device string must not be empty", frame=r"vllm/config(?:/device)?\.py:"),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM found no device that its build can run on",
        "vLLM asks the NVIDIA driver (NVML) for GPUs at import and got no answer, or its version could "
        "not be read, which is how it tells a CPU build. Either the machine, container or job has no "
        "GPU, or the driver is out of reach, or this is a CUDA build on a machine without one.",
        "Check `nvidia-smi` in the same shell or container (`docker run --gpus all`, `srun "
        "--gres=gpu:1`). If it lists GPUs, `VLLM_LOGGING_LEVEL=DEBUG vllm serve ...` prints why each "
        "platform was refused. For a machine without GPU install a CPU build of vLLM.",
    ),
    zh=Words(
        "vLLM 没有找到其构建可以使用的设备",
        "vLLM 在导入时向 NVIDIA 驱动(NVML)查询 GPU,但没有得到回答;或读不到自身版本(它据此判断是否为 CPU "
        "构建)。可能是机器、容器或作业没有 GPU,也可能是驱动不可达,或在没有 GPU 的机器上安装了 CUDA 构建。",
        "在同一个 shell 或容器中检查 `nvidia-smi`(`docker run --gpus all`、`srun --gres=gpu:1`)。若能列出"
        " GPU,`VLLM_LOGGING_LEVEL=DEBUG vllm serve ...` 会打印各平台被拒绝的原因。没有 GPU 的机器请安装 "
        "vLLM 的 CPU 构建。",
    ),
)

LOG_COMMANDS = ("nvidia-smi",)

LOG_CONFIDENCE = LIKELY

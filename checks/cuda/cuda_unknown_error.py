"""CUDA cannot be started in any process: unknown error.

## What it means
The driver's library reached the kernel module and got an answer that it has no name for (999). Usually the module
nvidia_uvm is missing or broken: after the machine slept, after an update of the driver, or /dev/nvidia-uvm is not in
the container.
## What it does to a run
torch finds no GPU although nvidia-smi shows them.
## What to do
Reload nvidia_uvm or reboot; give the container its devices; set CUDA_VISIBLE_DEVICES before Python starts.
## How it is found
In a log: by torch's or the driver's message.
## References
https://github.com/pytorch/pytorch/issues/49081
https://github.com/pytorch/pytorch/issues/88639
https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CUD016", name="cuda-unknown-error", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?![^\n]{0,400}UserWarning: )[^\n]{0,400}?(?:Error 999|CUDA_ERROR_UNKNOWN)(?::|\)| ?\(999\)|$)[^\n]{0,40}"
    ),
    Signature(
        r"^(?![^\n]{0,400}UserWarning: )[^\n]{0,400}?Error (?P<code>304): OS call failed "
        r"or operation not supported on this OS"
    ),
    # torch only warns where it looks for GPUs, and a run on the CPU goes on; pip sets in what a build says, which needs
    # no GPU
    Signature(
        r"^(?!  /)[^\n]{0,400}?UserWarning: [^\n]{0,300}?(?:(?:Error 999|CUDA_ERROR_UNKNOWN)(?::|\)| ?\(999\))"
        r"|Error 304: OS call failed)",
        keywords=("Error 999", "CUDA_ERROR_UNKNOWN", "Error 304: OS call failed"),
        kind="warning",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "CUDA cannot start here: the driver answers with an unknown error",
        "`nvidia-smi` may work all the same, for it does not need the module nvidia_uvm. That module is not "
        "loaded, is broken since the machine slept or the driver was updated, or its device /dev/nvidia-uvm is "
        "missing in the container. The program and its packages are not at fault. Changing "
        "CUDA_VISIBLE_DEVICES to something wrong inside the script gives the same message.",
        "On the host: `sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm` (end what uses the GPU first), "
        "or reboot; `ls -l /dev/nvidia*` must list nvidia-uvm (`sudo nvidia-modprobe -u -c=0` makes it). In a "
        "container start with `--gpus all` (podman: a CDI specification made anew by `nvidia-ctk cdi "
        "generate`). For machines that sleep: `options nvidia NVreg_PreserveVideoMemoryAllocations=1`. Set "
        "CUDA_VISIBLE_DEVICES in the shell, not in the script.",
    ),
    zh=Words(
        "此处无法启动 CUDA:驱动返回未知错误",
        "`nvidia-smi` 仍可能正常,因为它不需要 nvidia_uvm 模块。该模块未加载,在休眠或驱动更新后损坏,或容器中缺少"
        "设备 /dev/nvidia-uvm。与程序及其软件包无关。在脚本中把 CUDA_VISIBLE_DEVICES 改成错误的值也会得到同样的"
        "信息。",
        "在宿主机上:`sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm`(先结束使用 GPU 的进程),或重启"
        ";`ls -l /dev/nvidia*` 中必须有 nvidia-uvm(`sudo nvidia-modprobe -u -c=0` 可创建)。容器请用 `--gpus "
        "all` 启动(podman:用 `nvidia-ctk cdi generate` 重新生成 CDI)。会休眠的机器:`options nvidia "
        "NVreg_PreserveVideoMemoryAllocations=1`。CUDA_VISIBLE_DEVICES 应在 shell 中设置,而不是在脚本里。",
    ),
)

LOG_CONFIDENCE = LIKELY

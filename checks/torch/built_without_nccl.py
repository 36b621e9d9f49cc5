"""The installed torch has no NCCL.

## What it means
NCCL is part of the builds for Linux and CUDA. Builds for the CPU, for Windows, macOS and Jetson lack it, and a group
with the backend `nccl` cannot be made.
## What it does to a run
Each rank ends at once.
## What to do
A build with CUDA, or the backend `gloo` where there is no GPU.
## How it is found
In a log, by torch's error.
## References
https://pytorch.org/docs/stable/distributed.html#backends
https://pytorch.org/get-started/locally/
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR043", name="built-without-nccl", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Distributed package doesn't have (?P<backend>NCCL|UCC|MPI|XCCL|HCCL) built in",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "the installed torch was built without {backend}",
        "Wheels for the CPU, for Windows, macOS and Jetson have no NCCL, and MPI is only in builds of one's "
        "own. Often pip put such a wheel in place of the one with CUDA, when a package asked for another "
        "version of torch.",
        'Look at `python -c "import torch; print(torch.__version__, torch.version.cuda)"`: with `+cpu` or '
        "None install the CUDA build of the same version from https://download.pytorch.org/whl/. Without "
        'GPUs, and on Windows, choose `gloo` (`ddp_backend="gloo"` in TrainingArguments, '
        '`init_process_group("gloo")`); vLLM and DeepSpeed want Linux or WSL2.',
    ),
    zh=Words(
        "所装的 torch 构建时未包含 {backend}",
        "面向 CPU、Windows、macOS 与 Jetson 的 wheel 没有 NCCL,MPI 只在自行编译的版本中才有。常见原因"
        "是某个包要求其他版本的 torch,pip 因此用这种 wheel 替换了带 CUDA 的版本。",
        "打印 `torch.__version__` 与 `torch.version.cuda`:若为 `+cpu` 或 None,请从 https://download.p"
        "ytorch.org/whl/ 安装同一版本的 CUDA 构建。没有 GPU 或在 Windows 上请选择 `gloo`(TrainingArgu"
        "ments 的 `ddp_backend`,或 `init_process_group` 的参数);vLLM 与 DeepSpeed 需要 Linux 或 WSL2"
        "。",
    ),
)

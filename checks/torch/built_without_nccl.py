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

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR043", name="built-without-nccl", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Distributed package doesn't have (?P<backend>NCCL|UCC|MPI|XCCL|HCCL) built in",
    ),
    Signature(
        r"AttributeError: module 'torch\.distributed' has no attribute '(?P<name>is_initialized|init_process_group|"
        r"ReduceOp|get_rank|get_world_size|ProcessGroup|group|all_reduce|barrier|is_torchelastic_launched|"
        r"GroupMember|Store)'"
    ),
    Signature(r"ImportError: cannot import name '(?P<name>ReduceOp|ProcessGroup|Store)' from 'torch\.distributed'"),
)

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

LOG_MESSAGE_NONE = Message(
    en=Words(
        "the installed torch was built without `torch.distributed` (`{name}` is missing there)",
        "Wheels for Jetson, some conda builds for macOS and builds of one's own with USE_DISTRIBUTED=0 have only an "
        "empty shell of the package; code that asks it without `torch.distributed.is_available()` fails.",
        'Look: `python -c "import torch; print(torch.__version__, torch.distributed.is_available())"`. If it says '
        "False, install a torch that has it (the wheels of https://download.pytorch.org/whl/ for Linux and Windows; "
        "on Jetson one built with `USE_DISTRIBUTED=1`), or guard the call: `torch.distributed.is_available() and "
        "torch.distributed.is_initialized()`.",
    ),
    zh=Words(
        "所装的 torch 构建时未包含 `torch.distributed`(缺少 `{name}`)",
        "Jetson 的 wheel、某些 macOS 的 conda 构建以及以 USE_DISTRIBUTED=0 自行编译的版本中,该包只是空壳;不先检查 "
        "`torch.distributed.is_available()` 的代码会失败。",
        '查看:`python -c "import torch; print(torch.__version__, torch.distributed.is_available())"`。若为 False,安'
        "装带有它的 torch(https://download.pytorch.org/whl/ 的 Linux、Windows wheel;Jetson 上选用以 "
        "`USE_DISTRIBUTED=1` 构建的),或加保护:`torch.distributed.is_available() and "
        "torch.distributed.is_initialized()`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """One back end is missing, or all of it."""
    first = hits.first
    if name := first.groups.get("name"):
        return found(
            PROBLEM, LOG_MESSAGE_NONE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name
        )
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        backend=first.groups["backend"],
    )  # fmt: skip

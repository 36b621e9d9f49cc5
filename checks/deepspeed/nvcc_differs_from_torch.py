"""nvcc's CUDA version is one that DeepSpeed will not mix with torch's.

## What it means
Before it compiles its CPU optimizers DeepSpeed compares nvcc's version with the CUDA version of torch. Equal is fine; a
minor difference is fine only for the pairs in a list that each release carries (12.x; there is no list for 13.x).
## What it does to a run
`CUDAMismatchException: ... Installed CUDA version ... does not match the version torch was compiled with`, after the
model was loaded.
## What to do
Install the toolkit of torch's version. DS_SKIP_CUDA_CHECK=1 takes the pair anyway; across a minor version that usually
works, across a major one it does not.
## How it is found
nvcc's version, torch's version file, and the list of the installed DeepSpeed.
In a log: by the exception of DeepSpeed's builder.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/op_builder/builder.py
https://www.deepspeed.ai/tutorials/advanced-install/
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import gpu_is_used, operation_built
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.cuda import Cuda
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.world import World

PROBLEM = Problem(id="DSP003", name="deepspeed-nvcc-differs-from-torch", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Installed CUDA version (?P<nvcc>\d{1,3}\.\d{1,3}) does not match the version torch was"
        r" compiled with (?P<torch>\d{1,3}\.\d{1,3}), unable to compile",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "nvcc is CUDA {nvcc} and torch was built for CUDA {torch}: DeepSpeed refuses to compile",
        "An operation that is compiled on first use must be built with torch's CUDA; DeepSpeed lets only "
        "pairs pass that its release knows to fit.",
        "Install the CUDA {torch} toolkit and point `CUDA_HOME` at it, install a torch built for CUDA "
        "{nvcc}, or upgrade DeepSpeed, whose list of fitting pairs grows. Where only the minor version "
        "differs `DS_SKIP_CUDA_CHECK=1` skips the comparison.",
    ),
    zh=Words(
        "nvcc 是 CUDA {nvcc},而 torch 为 CUDA {torch} 构建:DeepSpeed 拒绝编译",
        "首次使用时编译的算子必须用与 torch 一致的 CUDA 构建;DeepSpeed 只放行其版本已知相容的组合。",
        "安装 CUDA {torch} 工具包并让 `CUDA_HOME` 指向它,或安装为 CUDA {nvcc} 构建的 torch,或升级 "
        "DeepSpeed(相容列表会增长)。仅次版本不同时,`DS_SKIP_CUDA_CHECK=1` 可跳过比较。",
    ),
)

MESSAGE = Message(
    en=Words(
        "nvcc is CUDA {nvcc}, torch is CUDA {torch}: DeepSpeed {version} refuses to compile",
        "`{operation}`, which this run needs, is compiled on first use and ends with `Installed CUDA version {nvcc} "
        "does not match the version torch was compiled with {torch}`.",
        "Install the CUDA {torch} toolkit and point CUDA_HOME at it.",
    ),
    zh=Words(
        "nvcc 是 CUDA {nvcc},torch 是 CUDA {torch}:DeepSpeed {version} 拒绝编译",
        "本次运行所需的 `{operation}` 在首次使用时编译,会以 `Installed CUDA version {nvcc} does not match the version "
        "torch was compiled with {torch}` 失败。",
        "安装 CUDA {torch} 工具包,并让 CUDA_HOME 指向它。",
    ),
)


def _accepted(nvcc: str, torch: str, version: str) -> bool | None:
    """DeepSpeed's own rule; None for a release that the data do not know."""
    if nvcc == torch:
        return True
    from doctor import data

    release = data.deepspeed_release(version)
    if release is None:
        return None
    mixed = release.cuda_minor_mismatch_ok.get(nvcc.partition(".")[0], ())
    return nvcc in mixed and torch in mixed


@check(PROBLEM)
def nvcc_differs_from_torch(
    world: World,
    cuda: Cuda,
    packages: Packages,
    deepspeed: DeepspeedConfig | None,
    environment: Environment | None,
) -> Judgement:
    """Only the CPU optimizers make the comparison when they are compiled on first use."""
    operation = operation_built(deepspeed, world) if world.backend == "deepspeed" else None
    version = packages.version("deepspeed")
    if operation != "cpu_adam" or not version or not gpu_is_used(world, None, packages):
        return
    if environment is not None and environment.get("DS_SKIP_CUDA_CHECK") == "1":
        return
    build = packages.torch_build
    if not cuda.nvcc_version or build is None or build.cuda is None:
        return
    nvcc, torch = (".".join(each.split(".")[:2]) for each in (cuda.nvcc_version, build.cuda))
    accepted = _accepted(nvcc, torch, version)
    if accepted is None:
        yield Skip(f"which CUDA versions DeepSpeed {version} mixes is not known")
    if accepted is False:
        yield found(
            PROBLEM,
            MESSAGE,
            nvcc=nvcc,
            torch=torch,
            version=version,
            operation=operation,
            confidence=LIKELY,
            commands=(f"export CUDA_HOME=/usr/local/cuda-{torch}", "export DS_SKIP_CUDA_CHECK=1"),
            evidence=(Evidence(cuda.nvcc or "nvcc", f"CUDA {nvcc}"), Evidence("torch", f"CUDA {build.cuda}")),
        )

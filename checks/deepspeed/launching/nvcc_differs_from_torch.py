"""Judges deepspeed-nvcc-differs-from-torch (DSP003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import gpu_is_used, operation_built
from doctor.facts.cuda import Cuda
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


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
            evidence=(
                Observed.quoted(cuda.nvcc or "nvcc", f"CUDA {nvcc}"),
                Observed.quoted("torch", f"CUDA {build.cuda}"),
            ),
        )

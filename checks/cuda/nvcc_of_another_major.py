"""Judges nvcc-of-another-major (CUD003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import INFO, WARNING
from doctor.catalogue.shared.torch_builds import major
from doctor.catalogue.words import words_of
from doctor.facts.cuda import Cuda
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ANOTHER = TOML["another"]


@check(PROBLEM)
def nvcc_of_another_major(cuda: Cuda, packages: Packages) -> Judgement:
    """Compare major versions, as torch does; DeepSpeed's own, stricter rule is DSP003."""
    build = packages.torch_build
    if build is None or build.cuda is None or cuda.nvcc_version is None:
        return
    if major(cuda.nvcc_version) == major(build.cuda):
        return
    fitting = (each for each in cuda.toolkits if each.has_nvcc and major(each.version) == major(build.cuda))
    other = next(fitting, None)
    if other is None and cuda.cuda_home_from not in {"CUDA_HOME", "CUDA_PATH"}:
        return  # a toolkit that nobody chose harms nothing that is not compiled
    yield found(
        PROBLEM,
        ANOTHER if other else MESSAGE,
        severity=WARNING if other else INFO,
        commands=(f"export CUDA_HOME={other.path}",) if other else (),
        evidence=(
            Observed.quoted(cuda.nvcc or "nvcc", f"CUDA {cuda.nvcc_version}"),
            Observed.quoted("torch", f"CUDA {build.cuda}"),
        ),
        nvcc=cuda.nvcc_version,
        source=cuda.cuda_home_from or cuda.cuda_home,
        torch=build.cuda,
        major=major(build.cuda),
        other=other.path if other else None,
    )

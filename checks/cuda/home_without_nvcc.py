"""Judges cuda-home-without-nvcc (CUD002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import INFO, WARNING
from doctor.catalogue.words import words_of
from doctor.facts.cuda import Cuda

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ANOTHER = TOML["another"]


@check(PROBLEM)
def home_without_nvcc(cuda: Cuda) -> Judgement:
    """An explicit variable only: an image without it is as its makers meant it."""
    if cuda.cuda_home_from not in {"CUDA_HOME", "CUDA_PATH"} or cuda.nvcc is not None:
        return
    if not any(each.path == cuda.cuda_home for each in cuda.toolkits):
        return
    other = next((each for each in cuda.toolkits if each.has_nvcc), None)
    yield found(
        PROBLEM,
        ANOTHER if other else MESSAGE,
        severity=WARNING if other else INFO,
        commands=(f"export {cuda.cuda_home_from}={other.path}",) if other else ("conda install -c nvidia cuda-nvcc",),
        evidence=(Observed.quoted("environment", f"{cuda.cuda_home_from}={cuda.cuda_home}"),),
        variable=cuda.cuda_home_from,
        folder=cuda.cuda_home,
        other=other.path if other else None,
    )

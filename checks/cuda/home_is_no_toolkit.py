"""Judges cuda-home-is-no-toolkit (CUD001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.cuda import Cuda

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def home_is_no_toolkit(cuda: Cuda) -> Judgement:
    """What torch guesses by itself is not the user's fault and stays untold."""
    if cuda.cuda_home_from not in {"CUDA_HOME", "CUDA_PATH"} or cuda.cuda_home is None or cuda.nvcc is not None:
        return
    if any(each.path == cuda.cuda_home for each in cuda.toolkits):
        return
    other = next((each for each in cuda.toolkits if each.has_nvcc), None)
    set_it = f"export {cuda.cuda_home_from}={other.path}" if other else f"unset {cuda.cuda_home_from}"
    yield found(
        PROBLEM,
        MESSAGE,
        commands=(set_it,),
        evidence=(Observed.quoted("environment", f"{cuda.cuda_home_from}={cuda.cuda_home}"),),
        variable=cuda.cuda_home_from,
        folder=cuda.cuda_home,
    )

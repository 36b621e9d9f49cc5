"""PYTORCH_NO_CUDA_MEMORY_CACHING is left on.

## What it means
Torch takes every tensor's memory from the driver and gives it back at once, as one wants under compute-sanitizer.
## What it does to a run
Each allocation and each release becomes a call of the driver, and a release waits for the GPU: training runs many
times slower.
## What to do
Unset it.
## How it is found
The variable as the run will have it.
## References
https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-memory-management
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(id="PRF005", name="cuda-caching-off", severity=WARNING, since="0.1", ends_run=False)
VARIABLE = "PYTORCH_NO_CUDA_MEMORY_CACHING"

MESSAGE = Message(
    en=Words(
        "`PYTORCH_NO_CUDA_MEMORY_CACHING=1` turns torch's memory cache off",
        "Every tensor is taken from the driver and given back to it, and each release waits for the GPU: steps take "
        "many times longer.",
        "Unset it: it is for memory checkers, not for training.",
    ),
    zh=Words(
        "`PYTORCH_NO_CUDA_MEMORY_CACHING=1` 关闭了 torch 的显存缓存",
        "每个张量都直接向驱动申请并归还,每次释放都要等待 GPU,单步耗时会增加很多倍。",
        "取消该变量:它用于显存检查工具,而不是训练。",
    ),
)


@check(PROBLEM)
def cuda_caching_off(launch: Launch, environment: Environment, training: Training | None) -> Judgement:
    """Judge commands that train or serve."""
    if value_of(environment, training, VARIABLE) != "1" or not (launch.trains or launch.serves):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, "1"),
    )

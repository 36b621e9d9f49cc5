"""CUDA_LAUNCH_BLOCKING is left on.

## What it means
Every kernel launch waits until the kernel has finished. It is the way to see which line caused a CUDA error.
## What it does to a run
The CPU no longer works ahead of the GPU, and nothing overlaps: not the launches, not communication with computation.
## What to do
Unset it once the error is found.
## How it is found
The variable as the run will have it.
## References
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#asynchronous-concurrent-execution
https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(id="PRF001", name="cuda-launch-blocking", severity=WARNING, since="0.1", ends_run=False)
VARIABLE = "CUDA_LAUNCH_BLOCKING"

MESSAGE = Message(
    en=Words(
        "`CUDA_LAUNCH_BLOCKING=1` makes every kernel launch wait",
        "The CPU cannot work ahead of the GPU and communication does not overlap with computation: each step takes "
        "longer. It only helps to find the line of a CUDA error.",
        "Unset it when no CUDA error is being looked for.",
    ),
    zh=Words(
        "`CUDA_LAUNCH_BLOCKING=1` 使每次内核启动都要等待",
        "CPU 无法提前下发任务,通信与计算也不能重叠,每一步都会变慢。它只在定位 CUDA 错误所在行时有用。",
        "不排查 CUDA 错误时取消该变量。",
    ),
)


@check(PROBLEM)
def cuda_launch_blocking(launch: Launch, environment: Environment, training: Training | None) -> Judgement:
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

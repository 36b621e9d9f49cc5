"""Torch is told not to act on errors of NCCL.

## What it means
TORCH_NCCL_ASYNC_ERROR_HANDLING is 0 (or NCCL_ASYNC_ERROR_HANDLING, its name before torch 2.2): the watchdog sees an
error or a time-out of a collective and does nothing.
## What it does to a run
When one rank dies, the others wait for ever instead of ending after `ddp_timeout`: the job holds its GPUs until
somebody looks.
## What to do
Unset it; the default ends the process.
## How it is found
The variables as the run will have them.
## References
https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
https://github.com/pytorch/pytorch/pull/114077
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import group_size, shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="NCC009", name="nccl-errors-unhandled", severity=WARNING, since="0.1")
NAMES = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")  # torch takes the first that is set

MESSAGE = Message(
    en=Words(
        "`{name}=0` keeps torch from ending a run that NCCL has given up",
        "When one rank dies or a collective runs out of time, the other ranks wait for ever and hold their GPUs "
        "instead of ending with the error.",
        "Unset it: by default the process ends and tells why.",
    ),
    zh=Words(
        "`{name}=0` 使 torch 在 NCCL 出错后不结束任务",
        "某个 rank 退出或集合通信超时后,其余 rank 会一直等待并占着 GPU,而不是报错退出。",
        "取消该变量:默认行为是结束进程并说明原因。",
    ),
)


@check(PROBLEM)
def errors_unhandled(
    environment: Environment,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge the name that torch would take."""
    if group_size(world, None, verl_config, trinity_config) < 2:
        return
    name = next((each for each in NAMES if value_of(environment, training, each) is not None), None)
    if name is None or (value_of(environment, training, name) or "").strip() != "0":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        name=name,
        where=where_set(training, name),
        commands=(f"unset {name}",),
        evidence=shown(name, "0"),
    )

"""TORCH_NCCL_BLOCKING_WAIT is left on.

## What it means
Waiting for a collective blocks the CPU until the GPU has done it, instead of queueing the wait on the GPU's stream.
## What it does to a run
Communication no longer overlaps with the work that the CPU could launch meanwhile. Since the watchdog ends hanging
runs by itself, the variable is not needed for that.
## What to do
Unset it.
## How it is found
The variable, or its name before torch 2.2, as the run will have it, and the number of ranks.
## References
https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
https://github.com/pytorch/pytorch/pull/114077
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
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

PROBLEM = Problem(id="PRF003", name="nccl-blocking-wait", severity=WARNING, since="0.1", ends_run=False)
NAMES = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")  # torch takes the first that is set

MESSAGE = Message(
    en=Words(
        "`{name}=1` makes the CPU wait for every collective",
        "The CPU stops at each collective until the GPU has done it, so communication does not overlap with launching "
        "the next layers. Hanging runs are ended by torch's watchdog without it.",
        "Unset it.",
    ),
    zh=Words(
        "`{name}=1` 使 CPU 等待每一次集合通信",
        "CPU 在每次集合通信处停下等 GPU 完成,通信便无法与后续层的下发重叠。没有它,torch 的看门狗也会结束挂起的任务。",
        "取消该变量。",
    ),
)


@check(PROBLEM)
def nccl_blocking_wait(
    environment: Environment,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge the name that torch would take."""
    name = next((each for each in NAMES if value_of(environment, training, each) is not None), None)
    if name is None or (value_of(environment, training, name) or "").lower() not in {"1", "y", "yes", "t", "true"}:
        return
    if group_size(world, None, verl_config, trinity_config) < 2:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        name=name,
        where=where_set(training, name),
        commands=(f"unset {name}",),
        evidence=shown(name, value_of(environment, training, name) or ""),
    )

"""TORCH_DISTRIBUTED_DEBUG=DETAIL is left on.

## What it means
Torch checks every collective of every rank against those of the others, over an extra gloo group, before it runs.
## What it does to a run
Each collective costs one more exchange between all ranks over the network: steps take longer, most of all with ZeRO-3
or FSDP, which gather every layer.
## What to do
Unset it, or set INFO, which costs nothing in the steps.
## How it is found
The variable as the run will have it, and the number of ranks.
## References
https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import group_size, shown, value_of, where_set
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.environment import Environment
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="PRF002", name="distributed-debug-detail", severity=WARNING, since="0.1", ends_run=False)
VARIABLE = "TORCH_DISTRIBUTED_DEBUG"

MESSAGE = Message(
    en=Words(
        "`TORCH_DISTRIBUTED_DEBUG=DETAIL` checks every collective of {ranks} ranks",
        "Before each collective the ranks compare notes over an extra gloo group. ZeRO-3 and FSDP, which gather every "
        "layer, pay for it hundreds of times a step.",
        "Unset it when no hang is being looked for.",
    ),
    zh=Words(
        "`TORCH_DISTRIBUTED_DEBUG=DETAIL` 会核对 {ranks} 个 rank 的每次集合通信",
        "每次集合通信之前,各 rank 都要通过额外的 gloo 组互相核对。"
        "逐层收集权重的 ZeRO-3 与 FSDP 每一步要为此付出数百次代价。",
        "不排查挂起时取消该变量。",
    ),
)


@check(PROBLEM)
def distributed_debug_detail(
    environment: Environment,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge groups of several ranks."""
    value = value_of(environment, training, VARIABLE) or ""
    ranks = group_size(world, serving, verl_config, trinity_config)
    if value.upper() != "DETAIL" or ranks < 2:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        ranks=ranks,
        where=where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )

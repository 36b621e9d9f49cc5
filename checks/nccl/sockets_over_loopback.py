"""NCCL_SOCKET_IFNAME leaves only the loopback interface, and the run has several machines.

## What it means
NCCL was told to use `lo`, which no other machine can reach. The setting is right for one machine and wrong for two.
## What it does to a run
Every rank advertises 127.0.0.1. Ranks of other machines connect to themselves: the first collective hangs until its
time-out, or ends with `Connection refused`.
## What to do
Name the interface that the machines share, or unset the variable.
## How it is found
The variable by NCCL's own rules against this machine's interfaces, and the number of machines of the command.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import (
    is_usable,
    machines_of,
    runs_elsewhere,
    selected,
    shown,
    value_of,
    where_set,
)
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="NCC002", name="sockets-over-loopback", severity=ERROR, since="0.1")
VARIABLE = "NCCL_SOCKET_IFNAME"

MESSAGE = Message(
    en=Words(
        "`NCCL_SOCKET_IFNAME={value}` leaves only `lo` for a run on {machines} machines",
        "Every rank tells the others the address 127.0.0.1, so ranks of different machines never meet: the first "
        "collective hangs until its time-out or is refused.",
        "Name the interface that the machines share, or unset the variable.",
    ),
    zh=Words(
        "`NCCL_SOCKET_IFNAME={value}` 只留下 `lo`,而任务跨 {machines} 台机器",
        "每个 rank 都向其他 rank 通告 127.0.0.1,不同机器上的 rank 无法会合:第一次集合通信会挂到超时,或连接被拒绝。",
        "填写各机器互通的网卡,或取消该变量。",
    ),
)


@check(PROBLEM)
def sockets_over_loopback(
    launch: Launch,
    environment: Environment,
    network: Network,
    gpus: Gpus,
    world: World,
    training: Training | None,
) -> Judgement:
    """Judge what NCCL would choose from; a machine that has no other interface is judged too."""
    value = value_of(environment, training, VARIABLE)
    if value is None or len(value) < 2 or runs_elsewhere(launch) or machines_of(world) < 2:
        return
    usable = [each.name for each in selected(value, network.interfaces) if is_usable(each)]
    if usable != ["lo"] or world.backend == "cpu" or not gpus.gpus:
        return
    others = [each.name for each in network.interfaces if is_usable(each) and each.name != "lo"]
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        machines=world.machines,
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}={others[0]}",) if others else (),
        evidence=shown(VARIABLE, value),
    )

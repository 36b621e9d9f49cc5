"""The same network interface has another MTU on some nodes.

## What it means
An interface that most nodes run with one MTU has another on some: jumbo frames that were not switched on everywhere,
or a path MTU that a container network lowers.
## What it does to a run
Small messages pass and large ones do not: with sockets they are lost where path MTU discovery is blocked, with RDMA
the queue pairs of both ends do not fit. NCCL starts, and the first large collective hangs or ends with a work request
error.
## What to do
Give the interface the same MTU on all nodes, and see that the switches carry it.
## How it is found
MTU of interfaces that lead out of the machine and have the same name on several nodes.
## References
https://github.com/NVIDIA/nccl/issues/1524
https://github.com/NVIDIA/nccl/pull/2135
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC028", name="mtu-differs-between-nodes", severity=WARNING, since="0.1")

ODD = Message(
    en=Words(
        "{hosts} against {others} other nodes: {told}",
        "Small messages pass and large ones may not: NCCL starts, and the first large collective hangs or "
        "ends with a work request error.",
        "Give the interface the same MTU on all nodes, and see that the switches carry it.",
    ),
    zh=Words(
        "{hosts} 与其余 {others} 个节点不同:{told_zh}",
        "小消息能通过,大消息可能不能:NCCL 能启动,第一次较大的集合通信却会挂住,或以 work request 错误结束。",
        "让该网卡在所有节点上使用相同的 MTU,并确认交换机支持。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "Small messages pass and large ones may not: NCCL starts, and the first large collective hangs or "
        "ends with a work request error.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "小消息能通过,大消息可能不能:NCCL 能启动,第一次较大的集合通信却会挂住,或以 work request 错误结束。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def mtu_differs_between_nodes(cluster: Cluster) -> Judgement:
    """Likely only: whether NCCL uses the interface is its own choice."""
    rows = compare(cluster, named("MTU of {}"))
    yield from told_apart(PROBLEM, ODD, SPLIT, rows, confidence=LIKELY, commands=("ip -br link",))

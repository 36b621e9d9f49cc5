"""Nodes exchange far less than their InfiniBand ports carry.

## What it means
What NCCL moved between nodes is a small part of the rate at which their InfiniBand ports run. It goes another way then:
over sockets and Ethernet (`NCCL_IB_DISABLE=1`, no /dev/infiniband in the container, no memory lock limit, libibverbs
absent), or over one port of many.
## What it does to a run
Every gradient and every weight that is exchanged between nodes takes five times as long or more. Nothing fails, so
nobody looks.
## What to do
Let NCCL say which way it takes (`NCCL_DEBUG=INFO`: `NET/Socket` or `NET/IB`), and mend what keeps it from the ports.
## How it is found
`doctor check --deep` over several nodes, also over two alone: all GPUs of one node send to and receive from another at
a time. The sum is compared with the rate of the active InfiniBand ports of both, or with 12 GB/s a GPU (PCIe 3) where
that is less: a fifth of it or below, for the median of all pairs of nodes.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#infiniband
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-disable
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.checks.nccl._measured import bandwidth
from doctor.cluster.measured import Measured
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.stats import median_of_sorted
from doctor.facts.cluster import Cluster, Node

PROBLEM = Problem(id="NCC030", name="far-below-port-rate", severity=WARNING, since="0.1")

SHARE = 0.2
_PCIE_GB_S = 12.0  # what a GPU in a slot of PCIe 3.0 x16 moves in one direction

MESSAGE = Message(
    en=Words(
        "Nodes exchange {own}, and their InfiniBand ports carry {ports}",
        "NCCL goes another way than these ports, most often over sockets: what is exchanged between nodes takes "
        "several times as long as it could, at every step.",
        "Run once with `NCCL_DEBUG=INFO` and look whether it says `NET/IB` or `NET/Socket`. See that /dev/infiniband "
        "is in the container, that the memory lock limit is unlimited, and that `NCCL_IB_DISABLE` is not set.",
    ),
    zh=Words(
        "节点间的交换速度为 {own},而它们的 InfiniBand 端口可达 {ports}",
        "NCCL 没有走这些端口,多半走了 socket:节点间的每次交换都要花数倍的时间。",
        "用 `NCCL_DEBUG=INFO` 运行一次,查看是 `NET/IB` 还是 `NET/Socket`。确认容器内有 /dev/infiniband、"
        "锁定内存不受限制,并且没有设置 `NCCL_IB_DISABLE`。",
    ),
)


@check(PROBLEM)
def far_below_port_rate(cluster: Cluster) -> Judgement:
    """All pairs of nodes that NCCL measured and whose ports are known; one slow pair among others is NCC023."""
    pairs = sorted(_pairs(Measured(cluster)), key=lambda each: each[0] / each[1])
    if not pairs or median_of_sorted([own / ports for own, ports in pairs]) > SHARE:
        return
    own, ports = pairs[len(pairs) // 2]
    yield found(
        PROBLEM,
        MESSAGE,
        own=bandwidth(1 / own),
        ports=bandwidth(1 / ports),
        confidence=LIKELY,
        commands=("ibstat", "ulimit -l", "ls /dev/infiniband"),
        evidence=(
            Evidence("doctor check --deep", f"{100 * own / ports:.0f} % of the ports, median of {len(pairs)} pairs"),
        ),
    )


def _pairs(measured: Measured) -> Iterator[tuple[float, float]]:
    """(GB/s of all GPUs that two nodes exchanged at a time, GB/s that their ports carry) of each pair of nodes."""
    nccl = {number for number, process in measured.processes() if process.backend == "nccl"}
    sums: dict[tuple[int, int], list[float]] = {}
    for each in measured.samples("bandwidth", inside=False):
        a, b = sorted((measured.node_of(each.a), measured.node_of(each.b)))
        sums.setdefault((a, b), []).append(1 / each.cost)
    for (a, b), speeds in sums.items():
        rates = [_rate(measured.parts[node].node) if node in measured.parts else 0.0 for node in (a, b)]
        if {a, b} <= nccl and min(rates) > 0:
            yield sum(speeds), min(*rates, _PCIE_GB_S * len(speeds))


def _rate(node: Node) -> float:
    """GB/s of the active InfiniBand ports of a node."""
    told = node.value("node")
    ports = told.ports if told is not None else ()
    return sum(
        (each.rate_gbps or 0.0) / 8 for each in ports if each.state == "ACTIVE" and each.link_layer == "InfiniBand"
    )

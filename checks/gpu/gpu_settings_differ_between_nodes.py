"""GPUs of some nodes are linked or set otherwise than those of the others.

## What it means
PCIe width, active NVLinks, power limit, greatest clock, ECC, MIG or compute mode of a node's GPUs differ from what
most nodes have.
## What it does to a run
A narrow link, fewer NVLinks or a lower power limit makes one node the straggler that all ranks wait for. MIG and an
exclusive compute mode keep processes off the card; ECC changes the memory that is left.
## What to do
Set the card as on the other nodes with nvidia-smi; a link that stays narrow is a matter of hardware.
## How it is found
NVML's readings on each node with GPUs. Clocks and widths that change with the load are compared at their greatest
value; the power limit with a tolerance of 2%.
## References
https://docs.nvidia.com/deploy/nvidia-smi/index.html
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="GPU018", name="gpu-settings-differ-between-nodes", severity=WARNING, since="0.1")

_COSTLY = named(
    "PCIe width", "PCIe generation, most", "NVLinks active", "SM clock, most (MHz)", "power limit (W)", "ECC", "MIG",
    "compute mode",
)  # fmt: skip

ODD = Message(
    en=Words(
        "GPUs of {hosts} are set otherwise than on {others} nodes: {told}",
        "A narrow link, fewer NVLinks or a lower power limit makes these nodes the stragglers that all ranks "
        "wait for. MIG and an exclusive compute mode keep processes off a card; ECC changes the memory that "
        "is left.",
        "Set them with `nvidia-smi` as on the other nodes; a link that stays narrow is a matter of hardware.",
    ),
    zh=Words(
        "{hosts} 的 GPU 设置与其余 {others} 个节点不同:{told_zh}",
        "链路变窄、NVLink 变少或功率上限更低,会让这些节点成为所有 rank "
        "等待的慢节点。MIG 与独占计算模式会把进程挡在卡外;ECC 会改变可用显存。",
        "用 `nvidia-smi` 设成与其他节点相同;一直变窄的链路属于硬件问题。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "A narrow link, fewer NVLinks or a lower power limit makes these nodes the stragglers that all ranks "
        "wait for. MIG and an exclusive compute mode keep processes off a card; ECC changes the memory that "
        "is left.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "链路变窄、NVLink 变少或功率上限更低,会让这些节点成为所有 rank "
        "等待的慢节点。MIG 与独占计算模式会把进程挡在卡外;ECC 会改变可用显存。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def gpu_settings_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Persistence mode costs only start-up time, so it is told for information."""
    commands = ("nvidia-smi -q -d CLOCK,POWER,ECC,COMPUTE",)
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, _COSTLY), commands=commands)
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("persistence mode")), severity=INFO)

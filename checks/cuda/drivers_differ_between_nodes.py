"""The nodes of a run have different NVIDIA drivers.

## What it means
Most nodes have one driver and some another: a node that was reinstalled, updated or left out of an update.
## What it does to a run
Often nothing. An older driver may not run the CUDA of the wheels or lack what NCCL uses on the others (NVLink SHARP,
cuMem), so that one node fails, falls back, or is slower than its siblings.
## What to do
Install the same driver everywhere, or leave the nodes that differ out of the run.
## How it is found
Driver and greatest CUDA version that NVML reports on each node with GPUs.
## References
https://docs.nvidia.com/deploy/cuda-compatibility/
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="CUD014", name="drivers-differ-between-nodes", severity=WARNING, since="0.1")

ODD = Message(
    en=Words(
        "Driver of {hosts} differs from {others} other nodes: {told}",
        "Often nothing. An older driver may not run the CUDA of the wheels, or lack what NCCL uses on the "
        "other nodes: one node then fails, falls back, or is slower than its siblings.",
        "Install the same driver on all nodes, or leave these out of the run.",
    ),
    zh=Words(
        "{hosts} 的驱动与其余 {others} 个节点不同:{told_zh}",
        "常常没有影响。但较旧的驱动可能跑不了安装包所用的 CUDA,或缺少 NCCL "
        "在其他节点上使用的功能:该节点会失败、降级,或比其他节点慢。",
        "在所有节点安装相同的驱动,或让这些节点不参加训练。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "Often nothing. An older driver may not run the CUDA of the wheels, or lack what NCCL uses on the "
        "other nodes: one node then fails, falls back, or is slower than its siblings.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "常常没有影响。但较旧的驱动可能跑不了安装包所用的 CUDA,或缺少 NCCL "
        "在其他节点上使用的功能:该节点会失败、降级,或比其他节点慢。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def drivers_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Compared among nodes with GPUs."""
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("driver", "CUDA of the driver")))

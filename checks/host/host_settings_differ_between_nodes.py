"""Memory, limits or processors of some nodes differ from the others.

## What it means
A node has less memory, a smaller /dev/shm, lower limits or another processor than most nodes of the run.
## What it does to a run
Offloading and data workers fail only where memory, shared memory or limits are short, which looks like a random rank.
Intel and AMD processors in one group made NCCL choose different algorithms on both sides, and collectives of certain
sizes hung.
## What to do
Set limits and /dev/shm as on the other nodes, and give the run nodes of one kind.
## How it is found
What each node with GPUs reports: sizes within 3%, limits as they stand. Kernel, distribution, driver modules and kind
of container are told for information.
## References
https://github.com/NVIDIA/nccl/issues/1136
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import SHARED, named
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="HST013", name="host-settings-differ-between-nodes", severity=WARNING, since="0.1")

_COSTLY = named(
    "CPU model", "CPUs", "memory", "memory limit", SHARED, "open files limit", "locked memory limit", "process limit",
    "{} writable",
)  # fmt: skip
_HARMLESS = named("kernel", "system", "NUMA nodes", "container", "module {}")

ODD = Message(
    en=Words(
        "{hosts} against {others} other nodes: {told}",
        "What fits on most nodes may not fit here: offloading, data workers and start-up then fail on these "
        "ranks alone. Intel and AMD processors in one group have made NCCL choose different algorithms on "
        "both sides and hang.",
        "Set limits and `/dev/shm` as on the other nodes, and give the run nodes of one kind.",
    ),
    zh=Words(
        "{hosts} 与其余 {others} 个节点不同:{told_zh}",
        "在多数节点上够用的,在这里可能不够:卸载、数据加载进程或启动只在这些 rank "
        "上失败。同一组里混用 Intel 与 AMD 处理器,曾使 NCCL "
        "两侧选择不同算法而挂住。",
        "把限制与 `/dev/shm` 设成与其他节点相同,并让训练使用同一种节点。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "What fits on most nodes may not fit here: offloading, data workers and start-up then fail on these "
        "ranks alone. Intel and AMD processors in one group have made NCCL choose different algorithms on "
        "both sides and hang.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "在多数节点上够用的,在这里可能不够:卸载、数据加载进程或启动只在这些 rank "
        "上失败。同一组里混用 Intel 与 AMD 处理器,曾使 NCCL "
        "两侧选择不同算法而挂住。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def host_settings_differ_between_nodes(cluster: Cluster) -> Judgement:
    """What can fail is a warning; what only explains a difference is for information."""
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, _COSTLY))
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, _HARMLESS), severity=INFO)

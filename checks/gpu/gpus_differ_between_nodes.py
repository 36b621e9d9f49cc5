"""Some nodes have fewer GPUs, or other GPUs, than the others.

## What it means
Nodes of one run differ in the number, model or memory of their GPUs. On machines that were bought alike a missing
card has usually fallen off the bus.
## What it does to a run
A launcher that starts the same number of processes everywhere fails on the node that has fewer. With mixed models
every step waits for the slowest card, and the smallest memory decides the batch size.
## What to do
Look at the kernel's messages of that node (`dmesg | grep -i xid`), reset or reboot it, or leave it out.
## How it is found
NVML's list on each node with GPUs; nodes without any, such as a head node, are not compared.
## References
https://docs.nvidia.com/deploy/xid-errors/
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="GPU017", name="gpus-differ-between-nodes", severity=WARNING, since="0.1")

ODD = Message(
    en=Words(
        "GPUs of {hosts} differ from {others} other nodes: {told}",
        "A launcher that starts as many processes on each node fails where cards are missing. With mixed "
        "models every step waits for the slowest card, and the smallest memory decides the batch size.",
        "Look for Xid messages of the kernel on these nodes; reset or reboot them, or leave them out of the run.",
    ),
    zh=Words(
        "{hosts} 的 GPU 与其余 {others} 个节点不同:{told_zh}",
        "每个节点启动同样多进程的启动器会在缺卡的节点上失败。型号混用时每一步都要等最慢的卡,最小的显存决定批大小。",
        "查看这些节点内核日志中的 Xid;复位或重启它们,或让它们不参加训练。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "A launcher that starts as many processes on each node fails where cards are missing. With mixed "
        "models every step waits for the slowest card, and the smallest memory decides the batch size.",
        "If the mixture is not meant, choose nodes of one kind.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "每个节点启动同样多进程的启动器会在缺卡的节点上失败。型号混用时每一步都要等最慢的卡,最小的显存决定批大小。",
        "如果不是有意混用,请选择同一种节点。",
    ),
)


@check(PROBLEM)
def gpus_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Compared among nodes with GPUs."""
    rows = compare(cluster, named("GPUs", "GPU model", "GPU memory"))
    yield from told_apart(PROBLEM, ODD, SPLIT, rows, commands=("dmesg | grep -i xid",))

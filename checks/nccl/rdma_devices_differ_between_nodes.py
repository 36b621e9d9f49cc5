"""Some nodes have no RDMA network, other RDMA devices, or ports that are down.

## What it means
Most nodes of the run have InfiniBand or RoCE devices, and some have none, others, or the same with a port that is not
active: a driver that is not loaded, a container without the devices, a cable.
## What it does to a run
NCCL decides on each node for itself which network to use. One that finds no device takes sockets while its peers wait
on InfiniBand: the communicator hangs at its start, or the run is as slow as the slowest network. With other sets of
devices some channels have no partner.
## What to do
Mend the node: load its driver, give the container `/dev/infiniband`, look at the port with `ibstat`. If the run is to
go on without, set `NCCL_IB_DISABLE=1` on all nodes.
## How it is found
Devices and port states in /sys/class/infiniband of each node with GPUs; NCCL_IB_DISABLE and NCCL_IB_HCA set
everywhere alike are respected.
## References
https://github.com/NVIDIA/nccl/issues/234
https://github.com/NVIDIA/nccl/issues/2428
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-hca
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC027", name="rdma-devices-differ-between-nodes", severity=WARNING, since="0.1")

_WHY_EN = (
    "NCCL decides on each node for itself which network to use: where one takes sockets and its peers wait on "
    "InfiniBand, the communicator hangs at its start or the run is as slow as the slowest network."
)
_WHY_ZH = (
    "NCCL 在每个节点上各自决定用哪种网络:一个节点用 socket 而其他节点等在 InfiniBand 上时,通信组一开始就挂住,"
    "或整个训练与最慢的网络一样慢。"
)
_DO_EN = (
    "Load the driver, give the container `/dev/infiniband`, look at the ports with `ibstat`; or set "
    "`NCCL_IB_DISABLE=1` on all nodes."
)
_DO_ZH = "加载驱动、把 `/dev/infiniband` 交给容器、用 `ibstat` 查看端口;或在所有节点上设置 `NCCL_IB_DISABLE=1`。"
ODD = Message(
    en=Words("RDMA on {hosts} is not as on {others} other nodes: {told}", _WHY_EN, _DO_EN),
    zh=Words("{hosts} 的 RDMA 与其余 {others} 个节点不同:{told_zh}", _WHY_ZH, _DO_ZH),
)
SPLIT = Message(
    en=Words("`{name}` differs between {seen} nodes, none has a majority: {told}", _WHY_EN, _DO_EN),
    zh=Words("`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}", _WHY_ZH, _DO_ZH),
)


@check(PROBLEM)
def rdma_devices_differ_between_nodes(cluster: Cluster) -> Judgement:
    """None against some can hang, which is an error; other names or a port that is down a warning."""
    variables = [node.value("environment") for node in cluster.heard]
    if variables and all(each is not None and each.flag("NCCL_IB_DISABLE") for each in variables):
        return
    rows = compare(cluster, named("RDMA devices"))
    without = [row for row in rows if any(value.text == "none" for value in row.values)]
    others = [*(row for row in rows if row not in without), *compare(cluster, named("RDMA port {}"))]
    commands = ("ibstat",)
    yield from told_apart(PROBLEM, ODD, SPLIT, without, severity=ERROR, confidence=LIKELY, commands=commands)
    yield from told_apart(PROBLEM, ODD, SPLIT, others, confidence=LIKELY, commands=commands)

"""NCCL or gloo is set otherwise on some nodes than on the others.

## What it means
A variable that NCCL, gloo or torch's process group reads is set on some nodes only, or to another value: a shell
start-up file, /etc/environment, an image, `ray start` from another shell.
## What it does to a run
Both ends of a connection must choose the same transport, algorithm and protocol. Where one is told to and the other
is not, the communicator hangs at its start or at messages of a certain size.
## What to do
Set the variable on all nodes, or on none. Under Ray the variables of `ray start` count; `runtime_env` sets them for
all workers.
## How it is found
Variables that begin with NCCL_, GLOO_ and TORCH_NCCL_ on each node, without those that name a node's own interfaces
and without NCCL_DEBUG.
## References
https://github.com/NVIDIA/nccl/issues/234
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

from doctor.cluster.compare import Compared, compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC026", name="nccl-variables-differ-between-nodes", severity=WARNING, since="0.1")

_BEGINNINGS = ("NCCL_", "GLOO_", "TORCH_NCCL_")
#: name what a node has, or write more to the log: no matter of agreement
_LOCAL = frozenset({
    "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_TOPO_FILE", "NCCL_DEBUG", "NCCL_DEBUG_FILE",
    "NCCL_DEBUG_SUBSYS", "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE",
})  # fmt: skip
#: choose the transport or the way of a collective: one end alone cannot
_MUST_AGREE = frozenset({"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_ALGO", "NCCL_PROTO"})

ODD = Message(
    en=Words(
        "{hosts} against {others} other nodes: {told}",
        "Both ends of a connection must choose the same transport, algorithm and protocol. Where one is told "
        "to and the other is not, the communicator hangs at its start or at messages of a certain size.",
        "Set the variable on all nodes or on none; under Ray pass it with `runtime_env`, for workers have "
        "the variables of `ray start`.",
    ),
    zh=Words(
        "{hosts} 与其余 {others} 个节点不同:{told_zh}",
        "连接两端必须选择相同的传输、算法与协议。一端被指定而另一端没有时,通信组会在启动时或某种大小的消息上挂住。",
        "在所有节点上设置,或都不设置;Ray 的工作进程使用 `ray start` 时的变量,请改用 `runtime_env` 传递。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "Both ends of a connection must choose the same transport, algorithm and protocol. Where one is told "
        "to and the other is not, the communicator hangs at its start or at messages of a certain size.",
        "Decide which value is right and give it to all nodes; none has a majority.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "连接两端必须选择相同的传输、算法与协议。一端被指定而另一端没有时,通信组会在启动时或某种大小的消息上挂住。",
        "没有占多数的取值:请先确定哪个正确,再让所有节点一致。",
    ),
)


@check(PROBLEM)
def nccl_variables_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Likely, for a launcher may still give its own variables to all ranks."""
    rows = [each for each in compare(cluster, named("{}")) if each.area == "environment" and _counts(each)]
    hard = [each for each in rows if each.name in _MUST_AGREE]
    soft = [each for each in rows if each.name not in _MUST_AGREE]
    yield from told_apart(PROBLEM, ODD, SPLIT, hard, severity=ERROR, confidence=LIKELY)
    yield from told_apart(PROBLEM, ODD, SPLIT, soft, confidence=LIKELY)


def _counts(row: Compared) -> bool:
    return row.name.startswith(_BEGINNINGS) and row.name not in _LOCAL

"""An actor of Ray lives and cannot be reached.

## What it means
Ray tells ActorUnavailableError where the actor is not known to be dead, and the call to it did not get through: the
network between the nodes breaks off, the process restarts, or a node gave an address that the others cannot use. A
head that was started with `--node-ip-address 0.0.0.0` works on one machine only.
## What it does to a run
The call fails, and with it the step.
## What to do
Start the head with its real address; otherwise look at the node of the actor.
## How it is found
In a log: by Ray's error; the head's address by the command or by what `ray start` prints.
## References
https://github.com/OpenRLHF/OpenRLHF/issues/339
https://docs.ray.io/en/latest/ray-core/fault_tolerance/actors.html#unavailable-actors
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY021", name="ray-actor-unavailable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:\bThe actor [0-9a-f]{8,64} is unavailable|^(?:ray\.exceptions\.)?ActorUnavailableError: )",
        symptom_of=("MEM", "HST", "GPU", "RAY009", "RAY018", "RAY022", "LCH018"),
    ),
    Signature(
        r"(?:--node-ip-address[= ]|Local node IP: |'node_ip_address': ')(?P<address>0\.0\.0\.0)\b",
        kind="sign",
    ),
)

LOG_MESSAGE_HEAD = Message(
    en=Words(
        "Ray's head was started with the address {address}, so other nodes cannot reach its actors",
        "Every node tells the others the address that it was started with. {address} means each machine "
        "itself: actors on the head are unavailable for the rest of the cluster, from the start or as "
        "soon as one is called from another node.",
        "Stop the cluster (`ray stop --force` on every node) and start the head with the address by "
        "which the others reach it: `ray start --head --node-ip-address=$(hostname -I | cut -d' ' -f1)`; "
        "on the others `ray start --address=HEAD_IP:6379`. `ray list nodes` must show a different, real "
        "address for each.",
    ),
    zh=Words(
        "Ray 的 head 以地址 {address} 启动,其他节点无法到达它的 actor",
        "每个节点都会把自己启动时的地址告诉其他节点。{address} 指的是各机器自身:head 上的 actor 对集群其"
        "余部分不可用,从一开始,或一旦被别的节点调用。",
        "停止集群(每个节点 `ray stop --force`),用其他节点能到达的地址启动 head:`ray start --head "
        "--node-ip-address=$(hostname -I | cut -d' ' -f1)`;其余节点 `ray start --address=HEAD_IP:6379`。"
        "`ray list nodes` 应显示各不相同的真实地址。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a Ray actor could not be reached, although it is not known to be dead",
        "The call did not get through: its process was restarting or too busy to answer, its node ran "
        "out of memory, the network between the nodes broke off, or the node registered an address that "
        "the others cannot use.",
        "Look at the actor and its node: `ray list actors --filter state!=DEAD`, `ray list nodes` (each "
        "node must show its real address, not 127.0.0.1 or 0.0.0.0), `dmesg -T | grep -i killed` and "
        "`/tmp/ray/session_latest/logs/raylet.err` there. Start every node with `--node-ip-address` of "
        "the network that joins them.",
    ),
    zh=Words(
        "无法到达某个 Ray actor,但它并未确认死亡",
        "调用没有送达:它的进程正在重启或忙得无法应答,所在节点内存不足,节点间网络中断,或该节点登记了其他节"
        "点无法使用的地址。",
        "查看该 actor 与其节点:`ray list actors --filter state!=DEAD`,`ray list nodes`(每个节点应显示真实"
        "地址,而不是 127.0.0.1 或 0.0.0.0),以及那里的 `dmesg -T | grep -i killed` 与 "
        "`/tmp/ray/session_latest/logs/raylet.err`。启动每个节点时用 `--node-ip-address` 指定互联网络的地"
        "址。",
    ),
)


def explain(hits: Hits) -> Finding:
    """An address of the head that only its own machine can use is the usual reason where nodes are several."""
    address = hits.get("address")
    return found(
        PROBLEM,
        LOG_MESSAGE_HEAD if address else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        address=address or "",
        commands=("ray status",),
    )

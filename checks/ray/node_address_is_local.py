"""A node of the Ray cluster is known by an address that only the node itself can reach.

## What it means
Ray hands the address of each node to all others. One that was started with `--node-ip-address=0.0.0.0` (or a loopback
address) registers just that. `ray start` says `Ray runtime started`, the other nodes join, and `ray status` counts
them.
## What it does to a run
Each node looks for the others' actors and objects at its own 0.0.0.0. Small answers still come back with the call; an
actor there that is called from another node ends the run with `The actor ... is unavailable` (`failed to connect to all
addresses ... ipv4:0.0.0.0`), and large objects are waited for without end.
## What to do
Stop Ray on that node and start it with its address in the network that the nodes share.
## How it is found
The address of each node as Ray lists it, or as its raylet was started; in a log by gRPC's message. 127.0.0.1 in a
command is no matter: `ray start` replaces it. Nodes that all live on one machine may share a loopback address.
## References
https://github.com/OpenRLHF/OpenRLHF/issues/339
https://docs.ray.io/en/latest/cluster/cli.html#ray-start
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from doctor.checks.nccl._helpers import machines_of, runs_elsewhere
from doctor.cluster.compare import machine
from doctor.cluster.hosts import folded
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, INFO, Problem
from doctor.core.signature import Signature
from doctor.facts.cluster import Cluster, Node
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="RAY022", name="ray-node-address-is-local", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ipv4:(?P<address>0\.0\.0\.0):\d{1,5}: Failed to connect to remote host"),)

#: in whose place `ray start` puts the machine's own address: resolve_ip_for_localhost in ray/_private/services.py
_REPLACED = frozenset({"127.0.0.1", "::1", "localhost"})

_WHY_EN = (
    "Ray tells the other nodes this address, and there they find themselves: calls of an actor on this node end with "
    "`The actor ... is unavailable`, and large objects from it are waited for without end."
)
_WHY_ZH = (
    "Ray 会把这个地址告诉其他节点,而它们在该地址上只会找到自己:调用此节点上的 actor 会以 `The actor ... is "
    "unavailable` 失败,而来自它的大对象会一直等不到。"
)
_DO_EN = (
    "Stop Ray on this node, and start it with its address in the network that the nodes share: `ray start --head "
    "--node-ip-address=ADDRESS --port=6379`. Without the option Ray finds the address by itself."
)
_DO_ZH = (
    "在该节点停止 Ray,再用它在节点间共用网络中的地址启动:`ray start --head --node-ip-address=地址 --port=6379`。"
    "不写该选项时,Ray 会自行确定地址。"
)

LOG_MESSAGE = Message(
    en=Words("A node of the Ray cluster is registered at {address}, where no other node finds it", _WHY_EN, _DO_EN),
    zh=Words("Ray 集群的一个节点以 {address} 注册,其他节点在那里找不到它", _WHY_ZH, _DO_ZH),
)
ON_NODES = Message(
    en=Words("Ray knows {hosts} by {address}, where no other node finds it", _WHY_EN, _DO_EN),
    zh=Words("Ray 所知的 {hosts} 的地址是 {address},其他节点在那里找不到它", _WHY_ZH, _DO_ZH),
)
HERE = Message(
    en=Words("Ray knows this machine by {address}, and the run is to have {machines} machines", _WHY_EN, _DO_EN),
    zh=Words("Ray 所知的本机地址是 {address},而任务跨 {machines} 台机器", _WHY_ZH, _DO_ZH),
)
#: OpenRLHF's guide starts the head like this, and on one machine alone it works
COMMAND = Message(
    en=Words(
        "`ray start --node-ip-address={address}` gives the node an address for itself alone",
        f"On one machine alone that works. As soon as another node joins: {_WHY_EN}",
        _DO_EN,
    ),
    zh=Words(
        "`ray start --node-ip-address={address}` 给节点的地址只有它自己能访问",
        f"只有一台机器时可以工作。一旦有其他节点加入:{_WHY_ZH}",
        _DO_ZH,
    ),
)


@check(PROBLEM)
def node_address_is_local(
    cluster: Cluster | None,
    launch: Launch | None,
    ray_cluster: RayCluster | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """The nodes where they are judged together; else this machine, whose run names several, or the command itself."""
    if cluster is not None:
        yield from _of_nodes(cluster)
        return
    if launch is None or runs_elsewhere(launch):
        return
    option = launch.option("node_ip_address") if launch.kind == "ray" else None
    if option is not None and is_local(option.text) and option.text not in _REPLACED:
        yield found(PROBLEM, COMMAND, severity=INFO, confidence=LIKELY, address=option.text)
    machines = machines_of(None, verl_config, trinity_config)
    if ray_cluster is not None and is_local(ray_cluster.node_address) and machines > 1:
        yield found(
            PROBLEM,
            HERE,
            address=ray_cluster.node_address or "",
            machines=machines,
            commands=("ray stop",),
            evidence=(Evidence("raylet", f"--node_ip_address={ray_cluster.node_address}"),),
        )


def is_local(address: str | None) -> bool:
    """Whether an address means the machine that uses it; False of names and of what is unknown."""
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    return parsed.is_loopback or parsed.is_unspecified


def _of_nodes(cluster: Cluster) -> Iterator[Finding]:
    living = [node for node in cluster.nodes if node.state != "died"]
    local = [node for node in living if is_local(_address(node)) and any(_apart(node, other) for other in living)]
    for address in dict.fromkeys(_address(node) for node in local):
        hosts = [node.name for node in local if _address(node) == address]
        yield found(
            PROBLEM,
            ON_NODES,
            hosts=folded(hosts, 3),
            address=address,
            where=Where(host=hosts[0]),
            nodes=tuple(hosts),
            commands=("ray stop",),
            evidence=tuple(Evidence(node.name, f"Ray: {_address(node)}") for node in living[:6] if _address(node)),
        )


def _address(node: Node) -> str | None:
    """By what Ray knows a node: as it lists it, else as its raylet was started."""
    ray: RayCluster | None = node.value("ray_cluster")
    return node.address or (ray.node_address if ray is not None else None)


def _apart(node: Node, other: Node) -> bool:
    """Whether another node of the same cluster lives on another machine than a node with a local address."""
    if node.address and other.address:  # Ray lists both
        return not is_local(other.address) or len({machine(node), machine(other)} - {None}) == 2
    return _joined(node, other) or _joined(other, node)


def _joined(head: Node, other: Node) -> bool:
    """Whether a node's raylet has joined a cluster at an address of this head."""
    ray, network = other.value("ray_cluster"), head.value("network")
    if ray is None or network is None or not ray.raylet_running or not ray.address or other is head:
        return False
    host = ray.address.rpartition(":")[0].strip("[]")
    return not is_local(host) and any(host in each.addresses for each in network.interfaces)

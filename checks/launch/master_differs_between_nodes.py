"""The nodes do not mean the same machine when they speak of the master, or cannot reach it.

## What it means
MASTER_ADDR or MASTER_PORT is not the same on all nodes, the name resolves to different addresses, to loopback on a
node that is not the master, to another node than rank 0, or a node's connection to it gets no answer.
## What it does to a run
Rank 0 opens the store at its own address; the others look for it where their variable or resolver says. They wait for
the time-out and end with `The client socket has failed to connect` or `connect() timed out`.
## What to do
Give the address of rank 0, as the others see it, to all nodes, and open the port between them.
## How it is found
The variables of each node, what its resolver says, the addresses of every node's interfaces, and a connection attempt
to the port: a refused one proves that the host can be reached, one that times out does not.
## References
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.cluster.compare import Reading, compare
from doctor.cluster.departures import told_apart
from doctor.cluster.hosts import folded
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Confidence, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.cluster import Cluster, Node
from doctor.facts.network import Endpoint

PROBLEM = Problem(id="LCH030", name="master-differs-between-nodes", severity=ERROR, since="0.1")

ODD = Message(
    en=Words(
        "Another master on {hosts} than on {others} other nodes: {told}",
        "They wait at another address than the one where rank 0 opens its store, and end with a time-out.",
        "Give the address and port of rank 0 to all nodes.",
    ),
    zh=Words(
        "{hosts} 寻找的主节点与其余 {others} 个节点不同:{told_zh}",
        "它们等在另一个地址,而不是 rank 0 打开存储的地址,最后超时退出。",
        "把 rank 0 的地址与端口给所有节点。",
    ),
)
SPLIT = Message(
    en=Words(
        "`{name}` differs between {seen} nodes, none has a majority: {told}",
        "The nodes wait at different addresses, and end with a time-out.",
        "Give the address and port of rank 0 to all nodes.",
    ),
    zh=Words(
        "`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}",
        "各节点等在不同的地址,最后超时退出。",
        "把 rank 0 的地址与端口给所有节点。",
    ),
)
LOOPBACK = Message(
    en=Words(
        "`{master}` resolves to {address} on {hosts}, which is not the master",
        "These nodes look for rank 0 on themselves, wait for the time-out and end with a connection error. Debian and "
        "Ubuntu write 127.0.1.1 into /etc/hosts.",
        "Map the name to rank 0's address in /etc/hosts, or give the address itself.",
    ),
    zh=Words(
        "`{master}` 在 {hosts} 上解析为 {address},而它们不是主节点",
        "这些节点在自己身上寻找 rank 0,等到超时后以连接错误退出。Debian 与 Ubuntu 会在 /etc/hosts 写入 127.0.1.1。",
        "在 /etc/hosts 中把该名字映射到 rank 0 的地址,或直接填写地址。",
    ),
)
NOT_FIRST = Message(
    en=Words(
        "The master `{master}` is an address of {host}, and rank 0 is on {first}",
        "Rank 0 opens its store on {first}, and all others look for it on {host}: they end with a time-out.",
        "Give the address of {first}, or let {host} be node rank 0.",
    ),
    zh=Words(
        "主节点 `{master}` 是 {host} 的地址,而 rank 0 在 {first} 上",
        "rank 0 在 {first} 上打开存储,其他节点却到 {host} 上找它,最后超时退出。",
        "填写 {first} 的地址,或让 {host} 成为编号 0 的节点。",
    ),
)
UNREACHED = Message(
    en=Words(
        "{hosts} got no answer from the master at `{master}`",
        "The attempt to connect timed out or found no route, although a port on which nobody listens yet would have "
        "refused it at once: a firewall, another network, or an address that is nobody's.",
        "Open the port between the nodes, or give an address of rank 0 in a network that all of them share.",
    ),
    zh=Words(
        "{hosts} 连接主节点 `{master}` 得不到任何回应",
        "连接超时或没有路由;而尚无人监听的端口本应立即拒绝:可能是防火墙、网络不通,或该地址没有主机。",
        "在节点之间放行该端口,或填写所有节点共同网络中 rank 0 的地址。",
    ),
)
_VARIABLES = (
    Reading("MASTER_ADDR", "launch", "environment", lambda each: each.get("MASTER_ADDR")),
    Reading("MASTER_PORT", "launch", "environment", lambda each: each.get("MASTER_PORT")),
)


@check(PROBLEM)
def master_differs_between_nodes(cluster: Cluster) -> Judgement:
    """Ray's frameworks choose the master themselves, so only other launchers are judged."""
    if cluster.engine == "ray":
        return
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, _VARIABLES))
    seen = [(node, each) for node in cluster.heard if (each := _master(node)) is not None]
    yield from _loopback(cluster, seen)
    yield from _not_first(cluster, seen)
    yield from _unreached(seen)


def _master(node: Node) -> Endpoint | None:
    network = node.value("network")
    master: Endpoint | None = network.endpoint("master") if network is not None else None
    return master


def _is_loopback(address: str) -> bool:
    return address == "::1" or address.startswith("127.")


def _loopback(cluster: Cluster, seen: list[tuple[Node, Endpoint]]) -> Iterator[Finding]:
    """Names, for an address that is loopback as it was given is LCH012's; the master itself may say so of itself."""
    outward = {address for _, each in seen for address in each.addresses if not _is_loopback(address)}
    for name in dict.fromkeys(each.host for _, each in seen):
        if name == "localhost" or _is_loopback(name):
            continue
        hosts, told = [], ""
        for node, each in seen:
            local = bool(each.addresses) and all(map(_is_loopback, each.addresses))
            if each.host == name and local and not _is_first(cluster, node) and not outward & _addresses(node):
                hosts.append(node.name)
                told = each.addresses[0]
        if hosts:
            yield found(
                PROBLEM, LOOPBACK, master=name, address=told, hosts=folded(hosts, 3), where=Where(host=hosts[0]),
                nodes=tuple(hosts), commands=(f"getent hosts {name}",),
                confidence=_certainty(cluster), evidence=(Evidence("name resolution", f"{name} -> {told}"),),
            )  # fmt: skip


def _certainty(cluster: Cluster) -> Confidence:
    """Without ranks the one node whose own name it is may be the master after all."""
    return CONFIRMED if any(node.rank == 0 for node in cluster.heard) else LIKELY


def _is_first(cluster: Cluster, node: Node) -> bool:
    return node.rank == 0 or (node.rank is None and node is cluster.heard[0])


def _addresses(node: Node) -> set[str]:
    network = node.value("network")
    if network is None:
        return set()
    own = {address for each in network.interfaces for address in each.addresses if not _is_loopback(address)}
    return own | ({node.address} if node.address else set())


def _not_first(cluster: Cluster, seen: list[tuple[Node, Endpoint]]) -> Iterator[Finding]:
    """Certain only where the address is another node's that was heard, and not rank 0's too (a shared address)."""
    first = next((node for node in cluster.heard if node.rank == 0), None)
    if first is None:
        return
    for master in dict.fromkeys((each.host, *each.addresses) for node, each in seen if node is not first):
        targets = {address for address in master if not _is_loopback(address)}
        holders = [node for node in cluster.heard if targets & _addresses(node)]
        if holders and first not in holders:
            yield found(
                PROBLEM, NOT_FIRST, master=master[0], host=holders[0].name, first=first.name,
                where=Where(host=holders[0].name), nodes=(holders[0].name,),
                evidence=(Evidence("interfaces", f"{holders[0].name}: {', '.join(sorted(targets))}"),),
            )  # fmt: skip
            return


def _unreached(seen: list[tuple[Node, Endpoint]]) -> Iterator[Finding]:
    """A refusal is an answer: nobody listens before the launch."""
    lost = [(node, each) for node, each in seen if getattr(each, "connection", None) in {"timed out", "unreachable"}]
    for name in dict.fromkeys(f"{each.host}:{each.port}" for _, each in lost):
        hosts = [node.name for node, each in lost if f"{each.host}:{each.port}" == name]
        whole = len(hosts) == len(seen)
        yield found(
            PROBLEM, UNREACHED, master=name, hosts=folded(hosts, 3), where=Where(host=hosts[0]), nodes=tuple(hosts),
            severity=WARNING if whole else ERROR, confidence=LIKELY,
            evidence=(Evidence("connection", f"{name}: {len(hosts)} of {len(seen)} nodes got no answer"),),
        )  # fmt: skip

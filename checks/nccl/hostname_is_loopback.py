"""The own name of this machine resolves only to a loopback address, and the run has several machines.

## What it means
`/etc/hosts` maps the host's name to 127.0.1.1, as Debian and Ubuntu do by default. Gloo binds to the address of the own
name and tells it to the others.
## What it does to a run
Gloo groups over several machines end with `Connection refused` or hang: each machine offers an address that only itself
can reach. NCCL looks at the interfaces instead and is not touched.
## What to do
Map the name to the machine's address in `/etc/hosts` on every machine, or set GLOO_SOCKET_IFNAME.
## How it is found
Addresses of the own name, and the number of machines of the command, or of the nodes that are judged together.
## References
https://github.com/ray-project/ray/issues/37461
https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import judged_by_node, machines_of, runs_elsewhere, value_of
from doctor.cluster.compare import machine
from doctor.cluster.hosts import folded
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.cluster import Cluster
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="NCC004", name="hostname-is-loopback", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"Gloo connectFullMesh failed with"
        r" [^\n]{0,200}remote=\[(?P<address>127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)\]"
    ),
    Signature(
        r"failed to connect, willRetry=\d[^\n]{0,200}remote=\[(?P<address>127\.\d{1,3}\.\d{1,3}\."
        r"\d{1,3})\]",
        kind="sign",
    ),
    Signature(
        r"gloo/transport/tcp/pair\.cc:\d{1,5}\] connect \[(?P<address>127\.\d{1,3}\.\d{1,3}\.\d{1,3})\]:\d{1,5}:"
        r" Connection (?:refused|reset|timed out)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "gloo tried to reach another rank at the loopback address {address}",
        "The other host's own name resolves to {address} there (Debian and Ubuntu write 127.0.1.1 "
        "into /etc/hosts), so gloo announced an address that only that host can reach.",
        "On every node map the host name to its LAN address in /etc/hosts (remove the `127.0.1.1` "
        "line), or set `GLOO_SOCKET_IFNAME` (and `NCCL_SOCKET_IFNAME`) to the interface that the "
        "nodes share. With all ranks on one host the port was closed instead: look at the rank that "
        "died.",
    ),
    zh=Words(
        "gloo 试图在回环地址 {address} 连接另一个 rank",
        "对方主机自己的名称在那里解析为 {address}(Debian 与 Ubuntu 会在 /etc/hosts 写入 127.0.1.1),因"
        "此 gloo 公布了只有该主机能访问的地址。",
        "在每个节点的 /etc/hosts 中把主机名映射到局域网地址(删除 `127.0.1.1` 一行),或把 "
        "`GLOO_SOCKET_IFNAME`(以及 `NCCL_SOCKET_IFNAME`)设为节点间互通的网卡。若所有 rank 在同一主机,"
        "则是对端端口已关闭:请查看先退出的 rank。",
    ),
)
LOG_CONFIDENCE = LIKELY

MESSAGE = Message(
    en=Words(
        "`{host}` resolves only to {addresses}, and the run has {machines} machines",
        "Gloo tells the other machines this address, which only this machine can reach: groups for CPU tensors end "
        "with `Connection refused` or hang. NCCL is not touched.",
        "Map the name to the machine's address in /etc/hosts on every machine, or set GLOO_SOCKET_IFNAME to the "
        "interface that the machines share.",
    ),
    zh=Words(
        "`{host}` 只解析到 {addresses},而任务跨 {machines} 台机器",
        "gloo 会把这个地址告诉其他机器,但只有本机能访问它:"
        "用于 CPU 张量的组会以 `Connection refused` 失败或挂住。NCCL 不受影响。",
        "在每台机器的 /etc/hosts 中把主机名映射到真实地址,或把 GLOO_SOCKET_IFNAME 设为各机器互通的网卡。",
    ),
)


@check(PROBLEM)
def hostname_is_loopback(
    launch: Launch,
    environment: Environment,
    network: Network,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge only runs that are told to span machines."""
    machines = machines_of(world, verl_config, trinity_config)
    if machines < 2 or runs_elsewhere(launch) or value_of(environment, training, "GLOO_SOCKET_IFNAME"):
        return
    if not network.hostname_answered:
        yield Skip(f"the name servers did not say what `{network.hostname}` resolves to")
        return
    addresses = network.hostname_addresses
    if not _only_loopback(network):
        return
    others = [each.name for each in network.interfaces if each.name != "lo" and each.is_up and each.addresses]
    yield found(
        PROBLEM,
        MESSAGE,
        host=network.hostname,
        addresses=", ".join(addresses),
        machines=machines,
        confidence=LIKELY,
        commands=(f"export GLOO_SOCKET_IFNAME={others[0]}",) if others else (),
        evidence=(Evidence("name resolution", f"{network.hostname} -> {', '.join(addresses)}"),),
    )


ON_NODES = Message(
    en=Words(
        "The own name of {hosts} resolves only to {addresses}",
        "Gloo on such a node tells the others this address, which only the node itself can reach: groups for CPU "
        "tensors end with `Connection refused` or hang. NCCL is not touched.",
        "Map each name to the machine's address in /etc/hosts there, or set GLOO_SOCKET_IFNAME to the interface that "
        "the machines share.",
    ),
    zh=Words(
        "{hosts} 的自身主机名只解析到 {addresses}",
        "这类节点上的 gloo 会把这个地址告诉其他节点,但只有它自己能访问:"
        "用于 CPU 张量的组会以 `Connection refused` 失败或挂住。NCCL 不受影响。",
        "在那里的 /etc/hosts 中把主机名映射到真实地址,或把 GLOO_SOCKET_IFNAME 设为各机器互通的网卡。",
    ),
)


@check(PROBLEM)
def hostnames_are_loopback(cluster: Cluster, launch: Launch | None) -> Judgement:
    """Where no command says what each node is to start: nodes on several machines are a run over them."""
    if judged_by_node(launch) or len({machine(node) or node.name for node in cluster.nodes}) < 2:
        return
    hosts: dict[tuple[str, ...], list[str]] = {}
    for node in cluster.heard:
        network, environment = node.value("network"), node.value("environment")
        if network is None or environment is None or environment.get("GLOO_SOCKET_IFNAME"):
            continue
        if network.hostname_answered and _only_loopback(network):
            hosts.setdefault(network.hostname_addresses, []).append(node.name)
    for addresses, names in hosts.items():
        yield found(
            PROBLEM,
            ON_NODES,
            hosts=folded(names, 3),
            addresses=", ".join(addresses),
            confidence=LIKELY,
            where=Where(host=names[0]),
            nodes=tuple(names),
            evidence=(Evidence("name resolution", f"{names[0]} -> {', '.join(addresses)}"),),
        )


def _only_loopback(network: Network) -> bool:
    """Whether the own name resolves, and to nothing that another machine could use."""
    addresses = network.hostname_addresses
    return bool(addresses) and all(each == "::1" or each.startswith("127.") for each in addresses)

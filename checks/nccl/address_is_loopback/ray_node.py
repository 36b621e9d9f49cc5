"""Judges NCC8677/ray_node, a row of address-is-loopback; its words stand in the TOML of the table."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.nodes.compare import machine
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.problem import INFO
from doctor.catalogue.shared.communication import machines_of, runs_elsewhere
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
ON_NODES = TOML["on_nodes"]
HERE = TOML["here"]
COMMAND = TOML["command"]


#: in whose place `ray start` puts the machine's own address: resolve_ip_for_localhost in ray/_private/services.py
_REPLACED = frozenset({"127.0.0.1", "::1", "localhost"})


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
            evidence=(Observed.quoted("raylet", f"--node_ip_address={ray_cluster.node_address}"),),
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
            evidence=tuple(
                Observed.quoted(node.name, f"Ray: {_address(node)}") for node in living[:6] if _address(node)
            ),
        )


def _address(node: ClusterNode) -> str | None:
    """By what Ray knows a node: as it lists it, else as its raylet was started."""
    ray: RayCluster | None = node.value("ray_cluster")
    return node.address or (ray.node_address if ray is not None else None)


def _apart(node: ClusterNode, other: ClusterNode) -> bool:
    """Whether another node of the same cluster lives on another machine than a node with a local address."""
    if node.address and other.address:  # Ray lists both
        return not is_local(other.address) or len({machine(node), machine(other)} - {None}) == 2
    return _joined(node, other) or _joined(other, node)


def _joined(head: ClusterNode, other: ClusterNode) -> bool:
    """Whether a node's raylet has joined a cluster at an address of this head."""
    ray, network = other.value("ray_cluster"), head.value("network")
    if ray is None or network is None or not ray.raylet_running or not ray.address or other is head:
        return False
    host = ray.address.rpartition(":")[0].strip("[]")
    return not is_local(host) and any(host in each.addresses for each in network.interfaces)

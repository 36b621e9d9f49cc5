"""Judges NCC8677/own_name, a row of address-is-loopback; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, Where, found
from doctor.catalogue.nodes.compare import machine
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.shared.communication import judged_by_node, machines_of, runs_elsewhere, value_of
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ON_NODES = TOML["on_nodes"]


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
        evidence=(Observed.quoted("name resolution", f"{network.hostname} -> {', '.join(addresses)}"),),
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
            evidence=(Observed.quoted("name resolution", f"{names[0]} -> {', '.join(addresses)}"),),
        )


def _only_loopback(network: Network) -> bool:
    """Whether the own name resolves, and to nothing that another machine could use."""
    addresses = network.hostname_addresses
    return bool(addresses) and all(each == "::1" or each.startswith("127.") for each in addresses)

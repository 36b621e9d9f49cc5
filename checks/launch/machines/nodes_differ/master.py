"""Judges LCH0780/master, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, Where, found
from doctor.catalogue.nodes.compare import NodeReading, compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.network import Endpoint

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]
LOOPBACK = TOML["loopback"]
NOT_FIRST = TOML["not_first"]
UNREACHED = TOML["unreached"]


_VARIABLES = (
    NodeReading("MASTER_ADDR", "launch", "environment", lambda each: each.get("MASTER_ADDR")),
    NodeReading("MASTER_PORT", "launch", "environment", lambda each: each.get("MASTER_PORT")),
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


def _master(node: ClusterNode) -> Endpoint | None:
    network = node.value("network")
    master: Endpoint | None = network.endpoint("master") if network is not None else None
    return master


def _is_loopback(address: str) -> bool:
    return address == "::1" or address.startswith("127.")


def _loopback(cluster: Cluster, seen: list[tuple[ClusterNode, Endpoint]]) -> Iterator[Finding]:
    """Names, for a loopback address that was given is NCC8677/master's; the master may say so of itself."""
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
                confidence=_certainty(cluster), evidence=(Observed.quoted("name resolution", f"{name} -> {told}"),),
            )  # fmt: skip


def _certainty(cluster: Cluster) -> Confidence:
    """Without ranks the one node whose own name it is may be the master after all."""
    return CONFIRMED if any(node.rank == 0 for node in cluster.heard) else LIKELY


def _is_first(cluster: Cluster, node: ClusterNode) -> bool:
    return node.rank == 0 or (node.rank is None and node is cluster.heard[0])


def _addresses(node: ClusterNode) -> set[str]:
    network = node.value("network")
    if network is None:
        return set()
    own = {address for each in network.interfaces for address in each.addresses if not _is_loopback(address)}
    return own | ({node.address} if node.address else set())


def _not_first(cluster: Cluster, seen: list[tuple[ClusterNode, Endpoint]]) -> Iterator[Finding]:
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
                evidence=(Observed.quoted("interfaces", f"{holders[0].name}: {', '.join(sorted(targets))}"),),
            )  # fmt: skip
            return


def _unreached(seen: list[tuple[ClusterNode, Endpoint]]) -> Iterator[Finding]:
    """A refusal is an answer: nobody listens before the launch."""
    lost = [(node, each) for node, each in seen if getattr(each, "connection", None) in {"timed out", "unreachable"}]
    for name in dict.fromkeys(f"{each.host}:{each.port}" for _, each in lost):
        hosts = [node.name for node, each in lost if f"{each.host}:{each.port}" == name]
        whole = len(hosts) == len(seen)
        yield found(
            PROBLEM, UNREACHED, master=name, hosts=folded(hosts, 3), where=Where(host=hosts[0]), nodes=tuple(hosts),
            severity=WARNING if whole else ERROR, confidence=LIKELY,
            evidence=(Observed.quoted("connection", f"{name}: {len(hosts)} of {len(seen)} nodes got no answer"),),
        )  # fmt: skip

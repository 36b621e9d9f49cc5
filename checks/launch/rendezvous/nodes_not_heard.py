"""Judges nodes-not-heard (LCH026), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Where, found
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster, ClusterNode

TOML = words_of(__name__)
PROBLEM = TOML.problem
DIED = TOML["died"]
SILENT = TOML["silent"]
MISSING = TOML["missing"]
FAILED = TOML["failed"]


_STATES = {
    "died": (DIED, ERROR, CONFIRMED),
    "silent": (SILENT, WARNING, LIKELY),
    "missing": (MISSING, WARNING, CONFIRMED),
    "failed": (FAILED, WARNING, CONFIRMED),
}
_REASONS = 6


@check(PROBLEM)
def nodes_not_heard(cluster: Cluster) -> Judgement:
    """One finding for each state, with what was noted of the nodes in it."""
    for state, (message, severity, confidence) in _STATES.items():
        nodes = [node for node in cluster.nodes if node.state == state]
        if nodes:
            hosts = tuple(node.name for node in nodes)
            yield found(
                PROBLEM,
                message,
                severity=severity,
                confidence=confidence,
                where=Where(host=hosts[0]),
                nodes=hosts,
                evidence=_reasons(nodes),
                count=len(nodes),
                asked=len(cluster.nodes),
                hosts=folded(hosts, 3),
            )


def _reasons(nodes: list[ClusterNode]) -> tuple[Observed, ...]:
    hosts: dict[str, list[str]] = {}
    for node in nodes:
        hosts.setdefault(node.reason or node.state, []).append(node.name)
    return tuple(Observed.quoted(folded(names, 4), reason) for reason, names in list(hosts.items())[:_REASONS])

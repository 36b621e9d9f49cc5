"""Judges LCH0780/rdma_devices, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.problem import ERROR
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]


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

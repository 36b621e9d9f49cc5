"""Judges LCH0780/nccl_variables, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY
from doctor.catalogue.nodes.compare import Compared, compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.problem import ERROR
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]


_BEGINNINGS = ("NCCL_", "GLOO_", "TORCH_NCCL_")
#: name what a node has, or write more to the log: no matter of agreement
_LOCAL = frozenset({
    "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_TOPO_FILE", "NCCL_DEBUG", "NCCL_DEBUG_FILE",
    "NCCL_DEBUG_SUBSYS", "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE",
})  # fmt: skip
#: choose the transport or the way of a collective: one end alone cannot
_MUST_AGREE = frozenset({"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_ALGO", "NCCL_PROTO"})


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

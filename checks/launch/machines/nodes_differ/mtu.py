"""Judges LCH0780/mtu, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]


@check(PROBLEM)
def mtu_differs_between_nodes(cluster: Cluster) -> Judgement:
    """Likely only: whether NCCL uses the interface is its own choice."""
    rows = compare(cluster, named("MTU of {}"))
    yield from told_apart(PROBLEM, ODD, SPLIT, rows, confidence=LIKELY, commands=("ip -br link",))

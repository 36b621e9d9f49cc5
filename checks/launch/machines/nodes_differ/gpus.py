"""Judges LCH0780/gpus, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
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
def gpus_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Compared among nodes with GPUs."""
    rows = compare(cluster, named("GPUs", "GPU model", "GPU memory"))
    yield from told_apart(PROBLEM, ODD, SPLIT, rows, commands=("dmesg | grep -i xid",))

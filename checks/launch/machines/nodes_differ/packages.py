"""Judges LCH0780/packages, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.problem import INFO
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]


#: what these problems tell themselves: RAY003
_OF_RAY = frozenset({"Python", "ray"})


@check(PROBLEM)
def packages_differ_between_nodes(cluster: Cluster) -> Judgement:
    """The stack is a warning, any other package is told for information."""
    rows = compare(cluster, named("Python", "torch", "CUDA of torch", "{}", "package {}"))
    rows = tuple(each for each in rows if each.area == "software")
    if cluster.engine == "ray":
        rows = tuple(each for each in rows if each.name not in _OF_RAY)
    stack = tuple(each for each in rows if not each.name.startswith("package "))
    yield from told_apart(PROBLEM, ODD, SPLIT, stack)
    yield from told_apart(PROBLEM, ODD, SPLIT, (each for each in rows if each not in stack), severity=INFO)

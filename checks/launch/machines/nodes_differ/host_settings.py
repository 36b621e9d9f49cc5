"""Judges LCH0780/host_settings, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import SHARED, named
from doctor.catalogue.problem import INFO
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]


_COSTLY = named(
    "CPU model", "CPUs", "memory", "memory limit", SHARED, "open files limit", "locked memory limit", "process limit",
    "{} writable",
)  # fmt: skip
_HARMLESS = named("kernel", "system", "NUMA nodes", "container", "module {}")


@check(PROBLEM)
def host_settings_differ_between_nodes(cluster: Cluster) -> Judgement:
    """What can fail is a warning; what only explains a difference is for information."""
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, _COSTLY))
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, _HARMLESS), severity=INFO)

"""Judges LCH0780/gpu_settings, a row of nodes-differ; its words stand in the TOML of the table."""

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


_COSTLY = named(
    "PCIe width", "maximum PCIe generation", "NVLinks active", "maximum SM clock (MHz)", "power limit (W)", "ECC",
    "MIG", "compute mode",
)  # fmt: skip


@check(PROBLEM)
def gpu_settings_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Persistence mode costs only start-up time, so it is told for information."""
    commands = ("nvidia-smi -q -d CLOCK,POWER,ECC,COMPUTE",)
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, _COSTLY), commands=commands)
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("persistence mode")), severity=INFO)

"""Judges LCH0780/files, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.problem import ERROR, INFO
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
ODD = TOML["odd"]
SPLIT = TOML["split"]


@check(PROBLEM)
def files_differ_between_nodes(cluster: Cluster) -> Judgement:
    """Another model is an error, other programs and folders are warnings, other mounts for information."""
    rows = compare(cluster, named("SHA-256 of {}"))
    if cluster.engine == "ray":  # the driver alone reads the script and its configuration
        rows = tuple(each for each in rows if each.name.endswith("/config.json"))
    models = [each for each in rows if each.name.endswith("/config.json")]
    paths = compare(cluster, named("{} exists", "file system of {}"))
    yield from told_apart(PROBLEM, ODD, SPLIT, models, severity=ERROR)
    yield from told_apart(PROBLEM, ODD, SPLIT, [*(each for each in rows if each not in models), *paths])
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("mount {}")), severity=INFO)

"""Judges ray-versions-differ (RAY003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.nodes.compare import compare
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import named
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.shared.ray_use import joins_ray
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.script import Script
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ODD = TOML["odd"]
SPLIT = TOML["split"]


@check(PROBLEM)
def versions_differ(
    launch: Launch,
    ray_cluster: RayCluster,
    packages: Packages,
    interpreter: Interpreter | None,
    serving: Serving | None,
    script: Script | None,
) -> Judgement:
    """Judge the cluster that `ray.init` would find; the minor version of Python is all that is known of it."""
    if not ray_cluster.address or not joins_ray(launch, serving, script) or runs_elsewhere(launch):
        return
    own = f"{interpreter.version_info[0]}.{interpreter.version_info[1]}" if interpreter is not None else None
    for what, theirs, ours in (
        ("Ray", ray_cluster.version, packages.version("ray")),
        ("Python", ray_cluster.python_version, own),
    ):
        if theirs and ours and theirs != ours:
            yield found(
                PROBLEM,
                MESSAGE,
                address=ray_cluster.address,
                what=what,
                theirs=theirs,
                ours=ours,
                commands=("ray stop",),
                evidence=(
                    Observed.quoted("raylet", f"Ray {ray_cluster.version}, Python {ray_cluster.python_version}"),
                ),
            )
            return


@check(PROBLEM)
def versions_of_nodes(cluster: Cluster) -> Judgement:
    """Only where Ray joins the nodes; elsewhere LCH0780/packages tells what differs."""
    if cluster.engine == "ray":
        rows = [each for each in compare(cluster, named("Python", "{}")) if each.name in {"Python", "ray"}]
        yield from told_apart(PROBLEM, ODD, SPLIT, rows, commands=("ray stop --force",))

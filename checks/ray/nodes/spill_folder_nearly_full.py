"""Judges spill-folder-nearly-full (RAY019), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, Finding, Where, found
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.nodes.readings import size
from doctor.catalogue.problem import INFO
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.node import UsedPath

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


#: local_fs_capacity_threshold in src/ray/common/ray_config_def.h
SHARE = 0.95
VARIABLE = "RAY_local_fs_capacity_threshold"


@check(PROBLEM)
def spill_folder_nearly_full(cluster: Cluster) -> Judgement:
    """One finding for all nodes whose session folder is over the threshold that Ray has there."""
    full = {node.name: folder for node in cluster.heard if (folder := _session(node)) and _used(folder) > _limit(node)}
    if not full:
        return
    hosts = tuple(sorted(full, key=lambda name: -_used(full[name])))
    yield found(
        PROBLEM,
        MESSAGE,
        hosts=folded(hosts, 3),
        percent=f"{100 * _used(full[hosts[0]]):.0f}",
        confidence=CONFIRMED,
        where=Where(host=hosts[0]),
        nodes=hosts,
        commands=(f"export {VARIABLE}=0.99",),
        evidence=tuple(
            Observed.quoted(name, f"{full[name].path}: {size(full[name].free_bytes or 0)} free") for name in hosts[:8]
        ),
    )


def explain(hits: Hits) -> Finding:
    """A note with the raylet's own figure: by itself it ends nothing."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        severity=INFO,
        confidence=CONFIRMED,
        percent=hits.get("percent"),
    )


def _session(node: ClusterNode) -> UsedPath | None:
    """The session folder of the node's Ray, where its disk told its size."""
    own = node.value("node")
    paths: tuple[UsedPath, ...] = own.paths if own is not None else ()
    return next((each for each in paths if each.purpose == "ray session" and each.total_bytes), None)


def _used(folder: UsedPath) -> float:
    return 1 - (folder.free_bytes or 0) / (folder.total_bytes or 1)


def _limit(node: ClusterNode) -> float:
    """The threshold that the node's raylet was started with; Ray's own where the variable is not set or no number."""
    environment = node.value("environment")
    try:
        return float((environment.get(VARIABLE) if environment else None) or SHARE)
    except ValueError:
        return SHARE

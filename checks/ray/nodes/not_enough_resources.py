"""Judges ray-not-enough-resources (RAY012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.communication import machines_of, ranks_here
from doctor.catalogue.shared.openrlhf_gpus import gpus_asked_for
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.script import Call, Script
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
TOTAL = TOML["total"]
OWN = TOML["script"]
STARTED = TOML["started"]

#: resource of a bundle -> argument of `ray.init` that says how much of it the local cluster has
#: (https://docs.ray.io/en/latest/ray-core/api/doc/ray.init.html)
_DECLARED = {"CPU": "num_cpus", "GPU": "num_gpus"}


#: positions of what only waited
WAITED = (2, 3)


def explain(hits: Hits) -> Finding:
    """With both numbers where told; one that only waited too long may wait for nodes, or for a slow Ray."""
    free, wanted = hits.get("free"), hits.get("wanted")
    numbers = f": {free} free, {wanted} wanted" if wanted else ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), numbers=numbers,
        confidence=LIKELY if all(hit.signature in WAITED for hit in hits) else CONFIRMED,
    )  # fmt: skip


@check(PROBLEM)
def script_asks_for_what_it_starts(script: Script, environment: Environment | None) -> Judgement:
    """A cluster that the script starts itself has what `ray.init` says; one that it joins is not known here."""
    starts = script.calls_of("ray.init")
    if len(starts) != 1 or starts[0].conditional or starts[0].has_star_kwargs or "address" in starts[0].arguments:
        return
    if environment is not None and environment.get("RAY_ADDRESS"):
        return
    for group in script.calls_of("ray.util.placement_group.placement_group", "ray.util.placement_group"):
        for resource, option in _DECLARED.items():
            declared, wanted = _number(starts[0], option), _wanted(group, resource)
            if declared is not None and wanted is not None and wanted > declared:
                yield found(
                    PROBLEM, OWN, confidence=LIKELY if group.conditional or environment is None else CONFIRMED,
                    where=place_of(otherwise=group.place), wanted=f"{wanted:g}", resource=resource,
                    evidence=quoted(starts[0].arguments[option], group.arguments["bundles"]),
                    declared=f"{declared:g}", option=option,
                )  # fmt: skip


@check(PROBLEM)
def shell_starts_what_is_asked_for(launch: Launch, verl_config: VerlConfig) -> Judgement:
    """`ray start --head` in the script of the training; machines may join it, but no card of this one."""
    heads = [each for each in launch.beside if each.certain and each.kind == "ray" and "head" in each.options]
    setting = heads[0].options.get("num_gpus") if len(heads) == 1 else None
    declared = whole(setting.value) if setting is not None and setting.known else None
    if setting is None or declared is None or not _written(verl_config):
        return
    gpus, nodes = ranks_here(None, None, verl_config, None), machines_of(None, verl_config, None)
    if gpus * nodes <= declared:
        return
    asked = [each for name in ("trainer.n_gpus_per_node", "trainer.nnodes") if (each := verl_config.get(name))]
    yield found(
        PROBLEM, STARTED, severity=ERROR if gpus > declared else WARNING, confidence=LIKELY, declared=declared,
        wanted=nodes, gpus=gpus, total=gpus * nodes, where=place_of(*asked, otherwise=heads[0].place),
        commands=("ray status",), evidence=quoted(setting, *asked),
    )  # fmt: skip


def _written(verl_config: VerlConfig) -> bool:
    """Whether what is asked for is told in numbers."""
    asked = [verl_config.get(name) for name in ("trainer.n_gpus_per_node", "trainer.nnodes")]
    return all(each is None or (each.known and whole(each.value) is not None) for each in asked)


def _number(call: Call, name: str) -> float | None:
    setting = call.arguments.get(name)
    value = setting.value if setting is not None and setting.known else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _wanted(group: Call, resource: str) -> float | None:
    """What all bundles of a group ask for together; None where one of them is not written out."""
    setting = group.arguments.get("bundles")
    bundles = setting.value if setting is not None and setting.known else None
    if not isinstance(bundles, (list, tuple)) or not all(isinstance(each, dict) for each in bundles):
        return None
    amounts = [each.get(resource, 0) for each in bundles]
    return float(sum(amounts)) if all(isinstance(each, (int, float)) for each in amounts) else None


@check(PROBLEM)
def cluster_has_resources(
    cluster: Cluster, verl_config: VerlConfig | None, trinity_config: TrinityConfig | None
) -> Judgement:
    """A share is packed on one node; who holds the GPUs now is not judged."""
    alive = _alive(cluster)
    if not alive or (verl_config is None and trinity_config is None):
        return
    gpus = ranks_here(None, None, verl_config, trinity_config)
    nodes = machines_of(None, verl_config, trinity_config)
    there = [node for node in alive if _gpus(node) >= gpus]
    if gpus < 1 or len(there) >= nodes:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        wanted=nodes,
        gpus=gpus,
        there=len(there),
        commands=("ray status",),
        evidence=_evidence(alive),
    )


@check(PROBLEM)
def cluster_has_gpus_for_openrlhf(cluster: Cluster, launch: Launch | None) -> Judgement:
    """Its bundles have one GPU each and may lie anywhere, so all GPUs count."""
    alive = _alive(cluster)
    wanted = gpus_asked_for(launch) if launch is not None else None
    there = sum(_gpus(node) for node in alive)
    if not alive or wanted is None or wanted <= there:
        return
    yield found(PROBLEM, TOTAL, wanted=wanted, there=f"{there:g}", commands=("ray status",), evidence=_evidence(alive))


def _alive(cluster: Cluster) -> list[ClusterNode]:
    """Nodes that Ray may place something on; none where it does not tell what they have."""
    alive = [node for node in cluster.nodes if node.state != "died"] if cluster.engine == "ray" else []
    return alive if any(node.resources for node in alive) else []


def _gpus(node: ClusterNode) -> float:
    return node.resources.get("GPU", 0)


def _evidence(nodes: list[ClusterNode]) -> tuple[Observed, ...]:
    return tuple(Observed.quoted(node.name, f"GPU: {_gpus(node):g}") for node in nodes[:8])

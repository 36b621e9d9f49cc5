"""Judges LCH5095/trinity, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def more_gpus_than_machine(trinity_config: TrinityConfig, gpus: Gpus, ray_cluster: RayCluster) -> Judgement:
    """A cluster whose address is another machine's is left alone."""
    each = trinity_config.settings.get("cluster.gpu_per_node")
    nodes = trinity_config.settings.get("cluster.node_num")
    if each is None or nodes is None or not each.known or whole(nodes.value) != 1 or not gpus.gpus:
        return
    if ray_cluster.address is not None and not ray_cluster.raylet_running:
        return
    want, have = whole(each.value), len(gpus.gpus)
    if want is None or want <= have:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        want=want,
        have=have,
        where=place_of(each),
        confidence=LIKELY,
        commands=(f"gpu_per_node: {have}",),
        evidence=(proof(each), Observed.quoted("NVML", f"{have} GPUs")),
    )

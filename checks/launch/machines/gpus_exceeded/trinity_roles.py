"""Judges LCH5095/trinity_roles, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trinity_settings import ROLLOUT_MODEL, Trinity, trinity_of
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
EXPLORES = TOML["explores"]


@check(PROBLEM)
def gpus_exceeded(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Only a cluster whose size is written can be compared; Ray is asked for the rest."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    total, explorer, mode = trinity.cluster_gpus, trinity.explorer_gpus, trinity.value("mode")
    if total is None or explorer is None or trinity.has_stages or trinity.value("model.tinker.enable"):
        return
    if mode == "both" and explorer >= total:
        message = MESSAGE
    elif mode in {"explore", "bench", "serve"} and explorer > total:
        message = EXPLORES
    else:
        return
    keys = (ROLLOUT_MODEL + "engine_num", ROLLOUT_MODEL + "tensor_parallel_size", "cluster.gpu_per_node")
    yield found(
        PROBLEM,
        message,
        explorer=explorer,
        total=total,
        mode=mode,
        where=place_of(*trinity.settings(*keys)),
        evidence=trinity.quoted(*keys, "cluster.node_num"),
    )

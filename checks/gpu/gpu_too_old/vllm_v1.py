"""Judges GPU7876/vllm_v1, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.shared.engine_gpus import capability, engine_gpus
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def v1_forced_on_old_gpu(
    packages: Packages,
    gpus: Gpus,
    environment: Environment,
    serving: Serving | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """VLLM asks the first GPU."""
    if (environment.get("VLLM_USE_V1") or "").strip() != "1":
        return
    used = engine_gpus(serving, training, world, gpus, environment, packages)
    if used and used[0].compute_capability is not None and used[0].compute_capability < (8, 0):
        yield found(
            PROBLEM,
            MESSAGE,
            gpu=used[0].label,
            capability=capability(used[0]),
            version=packages.version("vllm"),
            where=Where(gpu=used[0].index),
            commands=("unset VLLM_USE_V1",),
            evidence=(Observed.quoted("environment", "VLLM_USE_V1=1"),),
        )

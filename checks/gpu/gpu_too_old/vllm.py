"""Judges GPU7876/vllm, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Where, found
from doctor.catalogue.shared.engine_gpus import capability, engine_gpus, release_of
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


@check(PROBLEM, requires=("TOR003",))
def gpu_too_old(
    packages: Packages,
    gpus: Gpus,
    environment: Environment | None,
    serving: Serving | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """A local version (`+cu126`) is another build, whose architectures nobody states."""
    release, version = release_of(packages), packages.version("vllm") or ""
    if release is None or release.min_compute_capability is None or "+" in version:
        return
    least = release.min_compute_capability
    for gpu in engine_gpus(serving, training, world, gpus, environment, packages):
        if gpu.compute_capability is not None and gpu.compute_capability < least:
            sure = release.min_compute_capability_confidence == "confirmed"
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                capability=capability(gpu),
                least=".".join(map(str, least)),
                version=version,
                where=Where(gpu=gpu.index),
                confidence=CONFIRMED if sure else LIKELY,
                commands=("pip install 'vllm<0.20'",) if gpu.compute_capability >= (7, 0) else (),
                evidence=(Observed.quoted("NVML", f"{gpu.label}: compute capability {capability(gpu)}"),),
            )
            return

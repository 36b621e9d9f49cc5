"""Judges deepspeed-import-needs-toolkit (DSP001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import gpu_is_used
from doctor.facts.cuda import Cuda
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def import_needs_toolkit(
    packages: Packages, cuda: Cuda, environment: Environment | None, gpus: Gpus | None, world: World | None
) -> Judgement:
    """A run that certainly uses DeepSpeed fails; one that only has it installed may."""
    if cuda.cuda_home and cuda.nvcc_version:
        return
    if environment is not None and environment.flag("DS_IGNORE_CUDA_DETECTION"):
        return
    used = gpu_is_used(world, gpus, packages)
    if used is None:
        yield Skip("the GPUs of this machine cannot be seen")
    if not used:
        return
    certain = (world is not None and world.backend == "deepspeed") or bool(packages.matches("trl", "<=0.17.0"))
    version = packages.version("deepspeed")
    yield found(
        PROBLEM,
        MESSAGE,
        version=version,
        severity=ERROR if certain else WARNING,
        confidence=CONFIRMED if certain else LIKELY,
        commands=("pip install 'deepspeed>=0.19.5'",),
        evidence=(Observed.quoted("CUDA toolkit", f"CUDA_HOME: {cuda.cuda_home or 'none found'}, nvcc: none"),),
    )


def explain(hits: Hits) -> Finding | None:
    """An operation that is compiled later is another problem (DSP002)."""
    if any(frame.endswith((":jit_load", ":load")) for hit in hits for frame in hit.frames):
        return None
    commands = ("pip install -U 'deepspeed>=0.19.5'",)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands)

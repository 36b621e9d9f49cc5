"""Judges deepspeed-operation-needs-toolkit (DSP002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import gpu_is_used, operation_built, setting_of
from doctor.facts.cuda import Cuda
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_NINJA = TOML["log_ninja"]
LOG_MESSAGE = TOML["log"]
TOOLKIT = TOML["toolkit"]
COMPILER = TOML["compiler"]


@check(PROBLEM, requires=("DSP001",))
def operation_needs_toolkit(
    world: World, cuda: Cuda, packages: Packages, deepspeed: DeepspeedConfig | None, gpus: Gpus | None
) -> Judgement:
    """Nothing to compile, nothing to say."""
    if world.backend != "deepspeed":
        return
    operation = operation_built(deepspeed, world)
    if operation is None:
        return
    reason = setting_of(deepspeed, "optimizer.type") or setting_of(
        deepspeed, "zero_optimization.offload_optimizer.device"
    )
    place, proof = place_of(reason), proofs(reason)
    if gpu_is_used(world, gpus, packages) and not cuda.nvcc_version:
        about = Observed.quoted("CUDA toolkit", f"CUDA_HOME: {cuda.cuda_home or 'none found'}, nvcc: none")
        yield found(
            PROBLEM,
            TOOLKIT,
            operation=operation,
            where=place,
            confidence=LIKELY,
            commands=("export CUDA_HOME=/usr/local/cuda",),
            evidence=(*proof, about),
        )
    elif cuda.has_cxx_compiler is False:
        commands = ("apt-get install g++",)
        yield found(
            PROBLEM, COMPILER, operation=operation, where=place, confidence=LIKELY, commands=commands, evidence=proof
        )


def explain(hits: Hits) -> Finding | None:
    """Tell the missing ninja from the missing toolkit."""
    ninja = bool(hits.of(0) or hits.of(2))
    return found(
        PROBLEM,
        LOG_MESSAGE_NINJA if ninja else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("pip install ninja",) if ninja else ("ds_report",),
        op=hits.get("op") or "",
    )

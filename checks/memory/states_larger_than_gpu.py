"""Judges states-larger-than-gpu (MEM002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.memory_bounds import (
    adam,
    frozen_bytes,
    full_parameters,
    gib,
    gpus_of_ranks,
    states_bytes,
)
from doctor.catalogue.shared.proofs import effective
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
ALONE = TOML["alone"]
BESIDE = TOML["beside"]
FROZEN = TOML["frozen"]


def _colocated(training: Training, packages: Packages | None) -> float | None:
    """Share of the GPU that vLLM keeps during the step, None where it runs elsewhere or sleeps."""
    mode = effective(training, packages, "vllm_mode")
    if not training.value("use_vllm") or mode is None or mode.value != "colocate":
        return None
    sleeping = training.get("vllm_enable_sleep_mode")
    if sleeping is not None and (not sleeping.known or truth(sleeping.value)):
        return None
    share = effective(training, packages, "vllm_gpu_memory_utilization")
    try:
        return float(str(share.value)) if share is not None else None
    except ValueError:
        return None


@check(PROBLEM, requires=("MEM001",))
def states_larger_than_gpu(
    model: Model, training: Training, world: World, gpus: Gpus, packages: Packages | None
) -> Judgement:
    """A lower bound, so what it finds does not fit; layers that a script freezes would lower it."""
    parameters, used = full_parameters(model, training), gpus_of_ranks(world, gpus)
    frozen = frozen_bytes(model, training, world)
    if (parameters is not None or frozen is not None) and world.order_uncertain:
        yield Skip("CUDA may number these GPUs of different models in another order")
        return
    if not used or (frozen is None and not adam(training, packages)):
        return
    need = states_bytes(parameters, world) if parameters is not None else frozen
    if need is None:
        return
    smallest = min(used, key=lambda gpu: gpu.memory_total_bytes or 0)
    have = smallest.memory_total_bytes or 0
    utilization = _colocated(training, packages)
    share = (utilization or 0) * have
    if need + share <= have:
        return
    message = ALONE if need > have else FROZEN if parameters is None else BESIDE
    count = parameters or model.parameters or 0
    yield found(
        PROBLEM,
        message,
        model=model.name,
        need=gib(need),
        have=gib(have),
        share=gib(share),
        utilization=utilization,
        most=f"{max(0.0, 1 - need / have):.2f}",
        gpu=smallest.label,
        billions=f"{count / 1e9:.1f}",
        where=place_of(training.get("vllm_gpu_memory_utilization")) if share else None,
        confidence=LIKELY,
        evidence=(Observed.quoted(model.folder or model.stated_in, f"{count} parameters"),),
    )

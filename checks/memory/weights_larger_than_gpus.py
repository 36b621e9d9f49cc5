"""Judges weights-larger-than-gpus (MEM001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.shared.memory_bounds import HALF_BYTES, full_parameters, gib, gpus_of_ranks
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
WHOLE = TOML["whole"]
DIVIDED = TOML["divided"]


@check(PROBLEM)
def weights_larger_than_gpus(model: Model, training: Training, world: World, gpus: Gpus) -> Judgement:
    """Machines are taken to be alike."""
    parameters, used = full_parameters(model, training), gpus_of_ranks(world, gpus)
    if parameters is not None and world.order_uncertain:
        yield Skip("CUDA may number these GPUs of different models in another order")
        return
    if parameters is None or not used or world.offload_param != "none":
        return
    need = parameters * HALF_BYTES
    divided = world.backend == "fsdp" or (world.backend == "deepspeed" and world.zero_stage == 3)
    smallest = min(used, key=lambda gpu: gpu.memory_total_bytes or 0)
    machines = world.machines or 1
    if divided:
        have = sum(gpu.memory_total_bytes or 0 for gpu in used) * machines
    elif world.backend in {"none", "multi_gpu"} or (world.backend == "deepspeed" and world.zero_stage in {0, 1, 2}):
        have = smallest.memory_total_bytes or 0
    else:
        return
    if need > have:
        yield found(
            PROBLEM,
            DIVIDED if divided else WHOLE,
            model=model.name,
            need=gib(need),
            have=gib(have),
            gpu=smallest.label,
            billions=f"{parameters / 1e9:.1f}",
            evidence=(Observed.quoted(model.folder or model.stated_in, f"{parameters} parameters"),),
        )

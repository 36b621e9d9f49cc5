"""Judges offload-larger-than-ram (MEM004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.shared.memory_bounds import full_parameters, gib
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.model import Model
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


OPTIMIZER_BYTES = 16  # fp32 weights, two moments, gradients
PARAMETER_BYTES = 2


@check(PROBLEM)
def offload_larger_than_ram(model: Model, training: Training, world: World, host: Host) -> Judgement:
    """Without buffers: what it finds does not fit, what it passes may still be tight."""
    if world.backend != "deepspeed" or world.offload_optimizer != "cpu":
        return
    parameters = full_parameters(model, training)
    if parameters is None:
        return
    total = host.memory_total_bytes
    if total is None:
        yield Skip("the memory of this machine is not reported")
        return
    have = min(total, host.memory_limit_bytes or total)
    each = OPTIMIZER_BYTES + (PARAMETER_BYTES if world.offload_param == "cpu" else 0)
    need = parameters * each / (world.machines or 1)
    if need > have:
        yield found(
            PROBLEM,
            MESSAGE,
            model=model.name,
            need=gib(need),
            have=gib(have),
            bytes=each,
            billions=f"{parameters / 1e9:.1f}",
            confidence=LIKELY,
            evidence=(
                Observed.quoted(model.folder or model.stated_in, f"{parameters} parameters"),
                Observed.quoted("memory", f"{gib(have)} GiB"),
            ),
        )
